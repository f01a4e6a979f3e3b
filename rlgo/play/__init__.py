"""Players and game sessions: the player interface, ownership, GTP."""
