"""Searches in threads of their own, which take turns on the cores and report while they run."""
