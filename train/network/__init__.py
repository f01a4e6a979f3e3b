"""Networks: learned from games, measured, and exchanged with other programs.

Start reading at `learning.py`. `gradients.py` has the equations of the network once more, for JAX, and the loss.
"""
