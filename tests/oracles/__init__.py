"""Slow oracles: the results of the fast kernels, computed from the definitions in plain Python."""
