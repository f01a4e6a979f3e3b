"""Players and the sessions that they play in: the interface of a player, ownership, GTP."""
