"""How numba compiles and keeps kernels, and what kernels are written with: `jit.py` first. Nothing here knows Go."""
