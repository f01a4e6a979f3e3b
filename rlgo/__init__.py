"""rlgo: reinforcement learning for computer Go.

The names below are loaded when first used, so that `import rlgo` is fast. Where to start reading: `go/board.py` for the
rules, `features/shapes.py` for the features, `learning/value.py` for the value function, `learning/td.py` for the
update.
"""

from rlgo.base.lazy import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "rlgo.search.alphabeta": ("AlphaBetaOptions",),
        "rlgo.search.alphabeta_player": ("AlphaBeta",),
        "rlgo.go.board": ("BLACK", "PASS", "WHITE", "new_board"),
        "rlgo.learning.batches": ("read_games",),
        "rlgo.base.budget": ("Budget",),
        "rlgo.go.clock": ("TimeSettings",),
        "rlgo.go.coords": ("from_row_col", "from_vertex", "point_of", "to_row_col", "to_vertex"),
        "rlgo.go.draw": ("board_svg",),
        "rlgo.play.ending": ("Ending", "count", "decide"),
        "rlgo.search.dyna2": ("Dyna2",),
        "rlgo.base.errors": ("RlgoError",),
        "rlgo.learning.fast_games": ("play_fast",),
        "rlgo.go.game": ("Game",),
        "rlgo.learning.learner": ("Learner",),
        "rlgo.features.planes": ("apply_symmetry", "plane_names", "planes"),
        "rlgo.play.calibration": ("Calibration",),
        "rlgo.play.player": ("RESIGN", "Candidate", "GreedyPlayer", "Player", "RandomPlayer"),
        "rlgo.moves.rollout": ("DefaultPolicy",),
        "rlgo.go.positions": ("Positions",),
        "rlgo.search.network_player": ("NetworkPlayer",),
        "rlgo.network.conv_network": ("ConvNetwork", "load_network"),
        "rlgo.play.session": ("GameSession",),
        "rlgo.base.settings": ("Learning", "Policy"),
        "rlgo.go.sgf": ("load_sgf", "write_sgf"),
        "rlgo.go.sgf_files": ("save_sgf",),
        "rlgo.features.shapes": ("FeatureSet", "make_features"),
        "rlgo.search.table_search": ("TableLearning", "TableSearch"),
        "rlgo.search.td_search": ("Simulation", "TdSearch"),
        "rlgo.search.two_phase": ("TwoPhase",),
        "rlgo.learning.value": ("ValueFunction",),
        "rlgo.play.vector_env": ("vector_env",),
        "rlgo.features.weights": ("Weights", "load_weights", "save_weights", "shipped_weights"),
    },
)
