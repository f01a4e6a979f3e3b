"""Games with people and servers: terminal, CGOS, analysis, PettingZoo."""
