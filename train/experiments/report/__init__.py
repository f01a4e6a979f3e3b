"""Results to read: tables, pictures, and docs/results.md."""
