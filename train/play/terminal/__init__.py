"""Play against an engine in the terminal: `rlgo play`.

- `game`: the game, its commands and the engine's moves. Start reading at `game.TerminalGame.handle`.
- `record`: the game record, kept up to date.
- `screen`: boards, maps and moves as text that fits the terminal.
"""
