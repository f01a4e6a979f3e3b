"""Knowledge of moves: playouts by MoGo's patterns, ladders, and patterns learned from games."""
