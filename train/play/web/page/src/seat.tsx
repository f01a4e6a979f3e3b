// The player of one colour, with its clock.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { clockText } from "./controls";
import { capital, type ColorName } from "./go";
import { parseSpec } from "./players";
import { doing, game } from "./server";
import { beep } from "./sound";
import type { Clock as ClockOf } from "./types";

export function Seat({ color }: { color: ColorName }): JSX.Element {
  const now = game.value;
  const isTurn = now !== null && !now.is_over && now.to_play === color;
  const seat = now?.seats[color] ?? "";
  const name = now?.info[color === "black" ? "PB" : "PW"];
  const rank = now?.info[color === "black" ? "BR" : "WR"];
  return (
    <div class={isTurn ? "player turn" : "player"}>
      <span class={`dot ${color}`} aria-hidden="true" />
      <div>
        <div class="name" title={seat}>
          {capital(color)}
          {now && `: ${name ? [name, rank].filter(Boolean).join(" ") : seatText(seat)}`}
        </div>
        <div class="muted">
          {now && `${now.captures[color]} captured`}
          {name && seat !== "human" && `; ${seatText(seat)} plays on`}
        </div>
      </div>
      <Clock color={color} runs={isTurn && doing.value.game === "searching"} />
    </div>
  );
}

/** A seat in a player's words: "rlgo, level 3". */
export function seatText(seat: string): string {
  const { name, settings } = parseSpec(seat);
  const words: Record<string, string> = { strength: "level #", seconds: "# s", simulations: "# simulations" };
  const rest = settings.map(([key, value]) => words[key]?.replace("#", value) ?? `${key}=${value}`);
  return [name, ...rest].join(", ");
}

const SOON = 10; // seconds from which on a human hears the clock

/** What is left after some seconds: of the main time, and then of one period after another. */
function leftAfter(clock: ClockOf, gone: number): { seconds: number; stones: number } {
  let [seconds, stones] = [clock.seconds - gone, clock.stones];
  if (!stones && seconds < 0 && clock.period) [seconds, stones] = [seconds + clock.period, clock.periods || clock.period_stones];
  while (clock.periods && stones > 1 && seconds < 0) [seconds, stones] = [seconds + clock.period, stones - 1];
  return { seconds, stones };
}

/** A clock as the server told it, less what has gone by since. */
function Clock({ color, runs }: { color: ColorName; runs: boolean }): JSX.Element | null {
  const clock = game.value?.clocks[color] ?? null;
  const started = useRef(0);
  const beeped = useRef(0);
  const [, redraw] = useState(0);
  const isRunning = clock !== null && (runs || clock.runs);
  useEffect(() => {
    started.current = performance.now();
    if (!isRunning) return;
    const timer = setInterval(() => redraw((n) => n + 1), 200);
    return () => clearInterval(timer);
  }, [isRunning, clock]);
  if (!clock) return null;
  const gone = isRunning && started.current ? (performance.now() - started.current) / 1000 : 0;
  const { seconds, stones } = leftAfter(clock, gone);
  const isLow = clock.runs && seconds <= SOON;
  if (isLow && Math.ceil(seconds) !== beeped.current && seconds > 0) {
    beeped.current = Math.ceil(seconds);
    beep();
  }
  return (
    <span class={isLow ? "clock low" : "clock"} role="timer" aria-label={`${capital(color)}'s time`}>
      {clockText(seconds)}
      {stones > 0 && <small class="muted"> /{stones}</small>}
    </span>
  );
}
