"""Results to read: tables, pictures, and docs/lab/results.md."""
