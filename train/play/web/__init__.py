"""The web page's server: `rlgo web`.

Start reading at `app.create_app`, then `tab.Tab`, which is one browser tab with its game. A request travels
`guard` → `socket` (or `endpoints`) → `tab` → `searcher` → `rlgo.play.session.GameSession`; the messages that the page
sends are in `requests`, those that it gets in page/src/types.ts. The page itself is in `static/`.
"""
