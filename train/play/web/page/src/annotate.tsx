// What people add to a position: a comment, and marks on the board.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Segments } from "./controls";
import { pointsOf, toSgf } from "./go";
import { game } from "./server";
import * as table from "./table";

const TOOLS = [
  ["", "Play", "play a move"],
  ["TR", "△", "triangle"],
  ["SQ", "□", "square"],
  ["MA", "✕", "cross"],
  ["CR", "○", "circle"],
  ["LB", "A", "label"],
  ["LN", "╱", "line"],
  ["AR", "→", "arrow"],
] as const;

export const tool = signal<(typeof TOOLS)[number][0]>("");
export const begun = signal<number | null>(null); // where a line begins whose end is not known yet

const SHAPES = ["TR", "SQ", "MA", "CR"]; // of which a point has one

/** Set a mark, or remove it if it is there. */
export function markPoint(point: number): void {
  const { marks, size } = game.value!;
  const [name, from] = [tool.value, begun.value];
  const isLine = name === "LN" || name === "AR";
  begun.value = isLine && from === null ? point : null;
  if (begun.value !== null || point === from) return;
  const free = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].find((letter) => !marks.LB!.some((label) => label.slice(3) === letter)) ?? "?";
  const at = toSgf(point, size);
  const mark = isLine ? `${toSgf(from!, size)}:${at}` : name === "LB" ? `${at}:${free}` : at;
  const isShape = SHAPES.includes(name);
  const single = (known: string): string[] => (isShape ? pointsOf(known, size).map((p) => toSgf(p, size)) : [known]);
  const isSame = (known: string): boolean => (isLine ? known === mark : known.slice(0, 2) === at);
  const others = (key: string): string[] => marks[key]!.flatMap(single).filter((known) => !isSame(known));
  const next = Object.fromEntries((isShape ? SHAPES : [name]).map((key) => [key, others(key)]));
  if (!marks[name]!.flatMap(single).some(isSame)) next[name]!.push(mark);
  void table.ask("marks", { marks: next });
}

export function Annotate(): JSX.Element {
  const text = game.value?.comment ?? "";
  const [draft, setDraft] = useState<string | null>(null); // what is being written: drawing anew must not undo it
  return (
    <>
      <Segments label="A click on the board" value={tool.value} options={TOOLS} onChange={(name) => ([tool.value, begun.value] = [name, null])} />
      <div class="field">
        <label for="comment">Comment on this position</label>
        <textarea
          id="comment"
          rows={4}
          value={draft ?? text}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onChange={(event) => {
            setDraft(null);
            void table.ask("comment", { text: event.currentTarget.value.slice(0, 100_000) });
          }}
        />
      </div>
    </>
  );
}
