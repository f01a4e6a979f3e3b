"""Where players meet people, servers and other programs: terminal, CGOS, analysis, PettingZoo."""
