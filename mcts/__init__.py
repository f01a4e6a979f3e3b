"""Monte-Carlo tree search: flat, greedy, UCT, RAVE, MC-RAVE and UCT-RAVE, each with or without prior knowledge.

Start reading at `search.simulate`, the MC-RAVE paper's Algorithm 2, then `rave.py` for its formulas. All algorithms are
one player, `player.TreeSearch`; `settings.ALGORITHMS` lists them. `mcts` may import `rlgo`, never `train`.

The papers are Gelly & Silver 2011, "Monte-Carlo tree search and rapid action value estimation in computer Go" (the
MC-RAVE paper), and Silver, Sutton & Müller 2012, "Temporal-difference search in computer Go" (the TD paper).
"""

from rlgo.base.lazy import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "mcts.evaluator": ("Evaluator", "LearnedEvaluator"),
        "mcts.heuristic": ("q_rlgo",),
        "mcts.network": ("Network",),
        "mcts.player": ("TreeSearch",),
        "mcts.result": ("TreeResult",),
        "mcts.settings": (
            "ALGORITHMS",
            "ActionValue",
            "Heuristic",
            "PuctRule",
            "RaveSchedule",
            "Resources",
            "Settings",
            "Use",
        ),
    },
)
