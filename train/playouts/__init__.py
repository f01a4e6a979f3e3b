"""A default policy learned by simulation balancing, two-step balancing, REINFORCE, or from games.

`rlgo/moves/softmax_policy.py` describes the policy and its sources; MoGo's handcrafted one is still stronger. Start
reading at `learning.py`; `targets.py` makes the values that it learns from.
"""
