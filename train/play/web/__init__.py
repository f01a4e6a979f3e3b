"""The web page and its server: `rlgo web`.

A request travels `server.guard` → `server.socket` (or `server.endpoints`) → `tab.tab` → `searching.searcher` →
`rlgo.play.session.GameSession`. Each package imports only those before it:

- `options`: settings of the server, limits of a tab.
- `messages`: the page's requests, validated (`requests`), and positions and values as it gets them. The types of all
  messages to the page are in `page/src/types.ts`.
- `access`: the player specs and files that a request may use.
- `searching`: searches in threads, which report while they run.
- `tab`: a browser tab, with its game, its searches and its reviews. Start reading at `tab.Tab.handle`.
- `server`: access by token, the WebSocket, HTTP, the process. Start reading at `app.create_app`.

The page's sources are in `page/`, the page itself in `static/`.
"""
