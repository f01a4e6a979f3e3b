// Buttons and a slider that go through the game.

import type { JSX } from "preact";
import { Button, Icon } from "./controls";
import { game } from "./server";
import * as table from "./table";

export function Navigation(): JSX.Element {
  const { at, moves } = game.value ?? { at: 0, moves: [] };
  return (
    <div class="navigation">
      <Button onClick={() => table.goTo(0)} shortcut="Home" label="To the beginning" disabled={at === 0}>
        <Icon name="first" />
      </Button>
      <Button onClick={() => void table.step(-1)} shortcut="ArrowLeft" label="One move back" disabled={!table.canStep(-1)}>
        <Icon name="back" />
      </Button>
      <input
        type="range"
        aria-label="Move shown"
        aria-valuetext={`${at} of ${moves.length}`}
        min={0}
        max={Math.max(1, moves.length)}
        value={at}
        onInput={(event) => table.goTo(event.currentTarget.valueAsNumber)}
      />
      <Button onClick={() => void table.step(1)} shortcut="ArrowRight" label="One move on" disabled={!table.canStep(1)}>
        <Icon name="on" />
      </Button>
      <Button onClick={() => table.goTo(moves.length)} shortcut="End" label="To the last move" disabled={at === moves.length}>
        <Icon name="last" />
      </Button>
      <span class="count">
        {at}/{moves.length}
      </span>
    </div>
  );
}
