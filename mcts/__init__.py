"""Monte-Carlo tree search, composed of a tree policy, prior knowledge, and what a simulation is worth.

Start reading at `search.simulate`, the MC-RAVE paper's Algorithm 2, then `policies/rave.py` for its formulas. All
algorithms are one player, `player.TreeSearch`; `settings.ALGORITHMS` lists what they are composed of. `mcts` may import
`rlgo`, never `train`.

The papers are Gelly & Silver 2011, "Monte-Carlo tree search and rapid action value estimation in computer Go" (the
MC-RAVE paper), and Silver, Sutton & Müller 2012, "Temporal-difference search in computer Go" (the TD paper).
"""

from rlgo.base.lazy import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "mcts.judge": ("Judge",),
        "mcts.leaves": (
            "CorrectedValue",
            "LearnedValue",
            "Mixture",
            "NetworkValue",
            "OutsideValue",
            "Playout",
            "Score",
            "Value",
        ),
        "mcts.outside.evaluator": ("Evaluator",),
        "mcts.outside.onnx": ("OnnxNetwork",),
        "mcts.player": ("TreeSearch",),
        "mcts.policies": ("Flat", "Gumbel", "Puct", "Rave", "Ucb1"),
        "mcts.policies.rave": ("Schedule",),
        "mcts.priors": ("Even", "Grandfather", "Handcrafted", "Mogo", "Network", "Outside", "Patterns", "Rlgo", "Sum"),
        "mcts.priors.rlgo": ("q_rlgo",),
        "mcts.priors.stages": ("Stage",),
        "mcts.result": ("TreeResult",),
        "mcts.self_play": ("PlayedGame", "play_games"),
        "mcts.settings": ("ALGORITHMS", "Resources", "Search"),
    },
)
