// Variations: the moves that the record has after the position shown, to go along, name and remove.

import type { JSX } from "preact";
import { Button, Icon } from "./controls";
import type { Mark } from "./board";
import { fromVertex } from "./go";
import { game, tree } from "./server";
import * as table from "./table";

const letter = (i: number): string => String.fromCharCode(65 + (i % 26));

/** Letters on the board for the moves of the variations, if there are several. */
export function variationMarks(): Mark[] {
  const now = game.value;
  if (!now || now.variations.length < 2) return [];
  return now.variations.flatMap(({ move }, i): Mark[] =>
    move && move[1] !== "pass" ? [{ point: fromVertex(move[1], now.size), text: letter(i), isLabel: true }] : [],
  );
}

export function Variations(): JSX.Element | null {
  const now = game.value;
  const { parents, line } = tree.value ?? { parents: [], line: [] };
  const next = now ? line.findIndex((node, at) => at > now.at && parents.filter((parent) => parent === node).length > 1) : -1;
  if (!now || (now.variations.length < 2 && now.is_main && next < 0)) return null;
  return (
    <div class="variations" role="group" aria-label="Variations">
      {now.variations.length > 1 &&
        now.variations.map(({ move, name, moves, is_current }, i) => (
          <span key={i} class="variation">
            <Button onClick={() => void table.ask("branch", { index: i })} pressed={is_current}>
              {letter(i)}: {move?.[1] ?? "note"} {name && <i>{name}</i>} <small>{moves}</small>
            </Button>
            <Button onClick={() => void rename(i, name)} label={`Name variation ${letter(i)}`}>
              ✎
            </Button>
            <Button onClick={() => void remove(i, moves)} label={`Remove variation ${letter(i)}`}>
              <Icon name="close" />
            </Button>
          </span>
        ))}
      {!now.is_main && <Button onClick={() => void table.ask("branch")}>Back to the main line</Button>}
      {next >= 0 && <Button onClick={() => table.goTo(next)}>Next variations: after move {next}</Button>}
    </div>
  );
}

async function rename(index: number, name: string): Promise<void> {
  const next = prompt("Name of the variation", name);
  if (next !== null) await table.ask("name", { index, name: next.slice(0, 200) });
}

async function remove(index: number, moves: number): Promise<void> {
  if (confirm(`Remove this variation of ${moves} ${moves === 1 ? "move" : "moves"}?`)) await table.ask("remove", { index });
}
