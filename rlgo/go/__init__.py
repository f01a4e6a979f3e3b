"""The game: the board and its rules, coordinates, games, SGF records, clocks, drawings."""
