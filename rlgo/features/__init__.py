"""Local shape features: windows, shapes, their bookkeeping during a game, and weight files."""
