// Start reading at app.tsx; server.ts talks to the server, table.ts holds the game.

import { render } from "preact";
import { App } from "./app";
import { listen } from "./keys";
import { toast } from "./notices";
import { loadPlayers } from "./players";
import { connect } from "./server";

render(<App />, document.getElementById("app")!);
listen();
connect((text) => toast(text, "error"));
void loadPlayers();
