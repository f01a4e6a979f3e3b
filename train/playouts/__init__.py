"""A default policy learned by simulation balancing, two-step balancing, REINFORCE, or from games.

`rlgo/moves/softmax_policy.py` says what the policy is, where it comes from, and that MoGo's handcrafted one stays
stronger. Start reading at `learning.py`; `targets.py` holds the values that it learns from.
"""
