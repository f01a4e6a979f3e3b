"""Searches in threads of their own, which report while they run."""
