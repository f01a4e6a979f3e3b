"""A browser tab: its game, its searches, and the answers to its requests."""
