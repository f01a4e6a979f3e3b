"""The speed table: `rlgo bench`.

Start reading at `table.py`. `timing.py` is what all parts measure with, and `material.py` what they measure on.
"""
