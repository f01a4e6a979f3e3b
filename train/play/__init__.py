"""Players for people, servers and other programs: terminal, web page, analysis, PettingZoo."""
