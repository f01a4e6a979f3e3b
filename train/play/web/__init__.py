"""The web page's server: `rlgo web`.

Start reading at `app.create_app`, then `tab.Tab`, which is one browser tab with its game. A request travels
`guard` → `socket` (or `endpoints`) → `tab` → `searcher` → `rlgo.play.session.GameSession`; the answers' shapes are in
`requests` and `answers`, and in docs/web-api.md. The page itself is in `static/`.
"""
