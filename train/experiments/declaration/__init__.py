"""What an experiment is: its settings, its file, its claims and its matches."""
