"""Training runs: one, many side by side, and how strong they are."""
