"""Networks: trained on games, measured, and written for other programs.

Start reading at `training.py`. `loss.py` has the equations of the network once more, for JAX, and the loss.
"""
