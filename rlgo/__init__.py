"""rlgo: reinforcement learning for computer Go.

The names below are loaded when first used, so that `import rlgo` is fast. Where to start reading: `board.py` for the
rules, `shapes.py` for the features, `value.py` for the value function, `td.py` for the update.
"""

from rlgo.lazy import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "rlgo.alphabeta": ("Options",),
        "rlgo.alphabeta_player": ("AlphaBeta",),
        "rlgo.board": ("BLACK", "PASS", "WHITE", "new_board"),
        "rlgo.budget": ("Budget",),
        "rlgo.clock": ("TimeSettings",),
        "rlgo.coords": ("from_row_col", "from_vertex", "point_of", "to_row_col", "to_vertex"),
        "rlgo.draw": ("board_svg",),
        "rlgo.dyna2": ("Dyna2",),
        "rlgo.errors": ("RlgoError",),
        "rlgo.fast_games": ("play_fast",),
        "rlgo.game": ("Game",),
        "rlgo.learner": ("Learner",),
        "rlgo.player": ("RESIGN", "Candidate", "GreedyPlayer", "Player", "RandomPlayer"),
        "rlgo.rollout": ("DefaultPolicy",),
        "rlgo.session": ("GameSession",),
        "rlgo.settings": ("Learning", "Policy"),
        "rlgo.sgf": ("load_sgf", "write_sgf"),
        "rlgo.shapes": ("FeatureSet", "make_features"),
        "rlgo.table_search": ("TableLearning", "TableSearch"),
        "rlgo.td_search": ("Simulation", "TdSearch"),
        "rlgo.two_phase": ("TwoPhase",),
        "rlgo.value": ("ValueFunction",),
        "rlgo.weights": ("Weights", "load_weights", "save_weights", "shipped_weights"),
    },
)
