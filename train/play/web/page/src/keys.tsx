// Keys: one list, which is what they do and what the help shows.

import type { JSX } from "preact";
import { compareBoth } from "./compare";
import { Button } from "./controls";
import { kept } from "./kept";
import { openNewGame } from "./newgame";
import { game, showOwnership, wantsOwnership } from "./server";
import * as table from "./table";
import { nextTheme } from "./theme";
import { show, view, VIEWS } from "./views";
import { goToMistake, toggleReview } from "./review";
import { toggleSearch } from "./watch";

interface Shortcut {
  keys: string[]; // as in KeyboardEvent.key
  text: string;
  run: (key: string) => void;
  needsBoard?: boolean; // it changes the game, which Runs does not show
}

const areOn = kept("keys", true, localStorage);

/** Space runs whatever this view is about. */
function startOrStop(): void {
  if (view.value === "watch") toggleSearch();
  else if (view.value === "review") toggleReview();
  else if (view.value === "compare") compareBoth();
  else void table.togglePause();
}

const focus = (id: string): void => document.getElementById(id)?.focus();

const SHORTCUTS: Shortcut[] = [
  { keys: ["ArrowLeft", "ArrowRight"], text: "one move back, one move on", run: (key) => void table.step(key === "ArrowLeft" ? -1 : 1) },
  { keys: ["ArrowUp", "ArrowDown"], text: "ten moves back, ten moves on", run: (key) => void table.step(key === "ArrowUp" ? -10 : 10) },
  { keys: ["Home"], text: "to the beginning", run: () => table.goTo(0) },
  { keys: ["End"], text: "to the last move", run: () => table.goTo(Infinity) },
  { keys: [",", "."], text: "in a reviewed game, the mistake before, the next mistake", run: (key) => goToMistake(key === "," ? -1 : 1) },
  { keys: ["u"], text: "undo", run: () => void table.undo(), needsBoard: true },
  { keys: ["p"], text: "pass", run: () => void table.pass(), needsBoard: true },
  { keys: ["g"], text: "let the engine play this move", run: () => void table.letEngineMove(), needsBoard: true },
  { keys: ["e"], text: "show who owns which point", run: () => showOwnership(!wantsOwnership.value), needsBoard: true },
  { keys: ["s"], text: "score", run: () => void table.askScore(), needsBoard: true },
  { keys: ["n"], text: "new game", run: () => inPlay(openNewGame) },
  { keys: ["m"], text: "type a move", run: () => inPlay(() => focus("move")) },
  { keys: ["o"], text: "open an SGF file", run: () => inPlay(() => document.getElementById("sgf-file")?.click()) },
  { keys: ["w"], text: "save the game as SGF", run: () => void table.saveSgf() },
  { keys: ["r"], text: "resign", run: () => void table.resign(), needsBoard: true },
  { keys: [" "], text: "pause the engines; in Review, Watch and Compare, start or stop a search", run: startOrStop },
  { keys: VIEWS.map((_, i) => String(i + 1)), text: VIEWS.join(", "), run: (key) => show(VIEWS[Number(key) - 1]!) },
  { keys: ["t"], text: "colours: light, dark, or those of the system", run: nextTheme },
  { keys: ["?"], text: "this list", run: () => openKeys() },
];

/** Some things are only there in Play, which may have to be drawn first. */
function inPlay(action: () => void): void {
  show("play");
  const tryAgain = (): number => requestAnimationFrame(() => (document.getElementById("move") ? action() : tryAgain()));
  tryAgain();
}

export function listen(): void {
  addEventListener("keydown", (event) => {
    if (!areOn.value || event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return;
    const shortcut = SHORTCUTS.find(({ keys }) => keys.includes(event.key));
    if (!shortcut || !game.value || (shortcut.needsBoard && view.value === "runs")) return;
    event.preventDefault();
    shortcut.run(event.key);
  });
}

const MOVING = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", " "];

/** In a field, keys write; in a dialog, they are the dialog's; sliders, tables, buttons and boxes have keys of their own. */
function isTaken({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof Element) || target.closest("dialog:not([open])")) return false; // one that closes has the focus for a moment
  if (target.closest("input[type=text], input[type=number], textarea, select, dialog")) return true;
  return MOVING.includes(key) && !target.matches(".navigation input") && target.matches(key === " " ? "[type=checkbox], button, summary" : "input, [role=region]");
}

export function openKeys(): void {
  (document.getElementById("keys") as HTMLDialogElement).showModal();
}

const NAMES: Record<string, string> = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "Space" };

export function KeysDialog(): JSX.Element {
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <form method="dialog" class="stack">
        <h2 id="keys-title">Keys</h2>
        <table class="keys">
          <tbody>
            {SHORTCUTS.map(({ keys, text }) => (
              <KeyRow key={text} keys={keys} text={text} />
            ))}
            <KeyRow keys={["Tab"]} text="move to the board: arrow keys move a cursor there, Enter plays" />
            <KeyRow keys={["Wheel"]} text="over the board: one move back, one move on" />
          </tbody>
        </table>
        <label class="check">
          <input
            type="checkbox"
            checked={areOn.value}
            onChange={(event) => (areOn.value = event.currentTarget.checked)}
          />
          Enable keyboard shortcuts
        </label>
        <button type="submit" class="primary">
          Close
        </button>
      </form>
    </dialog>
  );
}

function KeyRow({ keys, text }: { keys: string[]; text: string }): JSX.Element {
  return (
    <tr>
      <th scope="row">
        {keys.map((key) => (
          <kbd key={key}>{NAMES[key] ?? key}</kbd>
        ))}
      </th>
      <td>{text}</td>
    </tr>
  );
}

export function KeysButton(): JSX.Element {
  return (
    <Button onClick={openKeys} label="Keys" shortcut="?">
      ?
    </Button>
  );
}
