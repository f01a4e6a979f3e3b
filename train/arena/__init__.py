"""Games with results: referee, game pools, matches, tournaments and ratings."""
