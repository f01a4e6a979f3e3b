"""Slow oracles: what the fast kernels answer, worked out from the definitions in plain Python."""
