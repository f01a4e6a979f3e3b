// The board of the game as all views show it, and what can be switched on over it.

import type { ComponentChildren, JSX } from "preact";
import { Board, type BoardProps, type Ghost, type Mark } from "./board";
import { Select } from "./controls";
import { BLACK, fromSgf, fromVertex, otherName, toColor, toVertex, type ColorName } from "./go";
import { kept } from "./kept";
import { lineSteps, paintOf } from "./losses";
import { OwnershipSwitch, shownOwners } from "./ownership";
import { game, hello } from "./server";
import * as table from "./table";
import { variationMarks } from "./variations";

const onStones = kept("on-stones", "", localStorage);

/** Whatever is given replaces what the game has; the stone of the one to play makes way for ghosts. */
export function GameBoard({ marks = variationMarks(), ...props }: Partial<BoardProps>): JSX.Element {
  const size = game.value?.size ?? hello.value?.size ?? 9;
  const score = table.score.value;
  return (
    <Board
      size={size}
      stones={table.stones.value}
      label={table.boardLabel()}
      last={table.lastPoint.value}
      turn={props.ghosts?.length || table.isEngineTurn() ? 0 : table.turn.value}
      owners={score?.ownership.flat() ?? shownOwners()}
      dead={score ? new Set(score.dead.flat().map((vertex) => fromVertex(vertex, size))) : undefined}
      note={table.remark()}
      onPoint={(point) => {
        const vertex = toVertex(point, size);
        if (score && table.stones.value[point]) table.toggleDead(vertex);
        else void table.playMove(vertex);
      }}
      onStep={table.step}
      {...props}
      drawn={game.value?.marks}
      marks={[...(props.ghosts?.length ? [] : stoneMarks()), ...marks]}
    />
  );
}

/** On the stones: the numbers of their moves, or how much these lost. */
function stoneMarks(): Mark[] {
  const now = game.value;
  if (!now || !onStones.value) return [];
  const numbers = new Map<number, number>(); // of the last move on each point
  const labelled = new Set(now.marks.LB!.map((mark) => fromSgf(mark, now.size)));
  now.moves.slice(0, now.at).forEach(([color, move], i) => {
    const point = fromVertex(move, now.size);
    if (table.stones.value[point] === toColor(color) && !labelled.has(point)) numbers.set(point, i + 1);
  });
  if (onStones.value === "numbers") {
    return [...numbers].map(([point, n]) => ({ point, text: String(n), ink: table.stones.value[point] === BLACK ? "#fff" : "#111" }));
  }
  const steps = new Map(lineSteps.value.map((step) => [step.number, step]));
  return [...numbers].flatMap(([point, n]): Mark[] => {
    const step = steps.get(n);
    return step ? [{ point, ...paintOf(step.loss) }] : [];
  });
}

/** A line of moves as stones that are not there. */
export function ghostsOf(line: readonly string[], first: ColorName, size: number): Ghost[] {
  const ghosts: Ghost[] = [];
  let color = first;
  for (const [i, vertex] of line.entries()) {
    const point = fromVertex(vertex, size);
    if (point >= 0 && ghosts.every((ghost) => ghost.point !== point)) ghosts.push({ point, color: toColor(color), label: String(i + 1) });
    color = otherName(color);
  }
  return ghosts;
}

/** What all views can show over the board. */
export function BoardBar({ children }: { children?: ComponentChildren }): JSX.Element {
  return (
    <div class="row spread bar">
      {children}
      <OwnershipSwitch />
      <Select
        label="Stones show"
        value={onStones.value}
        options={[
          ["", "nothing"],
          ["numbers", "move numbers"],
          ["losses", "losses"],
        ]}
        onChange={(kind) => (onStones.value = kind)}
      />
    </div>
  );
}
