// The moves of a search, best first, with their lines: one list for every view.

import { signal, type Signal } from "@preact/signals";
import type { JSX } from "preact";
import type { Ghost } from "./board";
import { type Column, Table } from "./controls";
import { ghostsOf } from "./gameboard";
import { isDetailed, QUANTITIES, titleOf } from "./heat";
import type { Search } from "./types";

const MOST_ROWS = 60;
const LONGEST_LINE = 10;

interface Row {
  move: string;
  index: number;
}

interface MoveListProps {
  label: string;
  search: Search | null;
  quantities: string[];
  hovered: Signal<string | null>; // the move whose line is on the board
  onPick?: (move: string) => void;
  minRows: number;
}

const tapped = signal<string | null>(null);

export function MoveList({ label, search, quantities, hovered, onPick, minRows }: MoveListProps): JSX.Element {
  const columns: Column<Row>[] = [
    { key: "move", title: "Move", value: (row) => row.move, isText: true },
    ...quantities.map(
      (key): Column<Row> => ({
        key,
        title: titleOf(key),
        hint: QUANTITIES[key]!.hint,
        value: (row) => search?.columns[key]?.[row.index] ?? null,
        show: (row) => QUANTITIES[key]!.show(search?.columns[key]?.[row.index]),
      }),
    ),
    {
      key: "line",
      title: "Line",
      hint: "how the search expects the game to go on",
      value: (row) => search?.lines[row.move]?.length ?? 0,
      show: (row) => search?.lines[row.move]?.slice(1).join(" ") ?? "",
      isText: true,
    },
  ];
  /** A finger cannot point: its first tap shows the line, and the second one plays. */
  const pick = ({ move }: Row, isTouch: boolean): void => {
    if (!isTouch || tapped.value === move) onPick?.(move);
    tapped.value = isTouch ? move : null;
  };
  const rows = (search?.moves ?? []).map((move, index) => ({ move, index }));
  const isShown = ({ index }: Row): boolean => isDetailed.value || search?.columns.visits?.[index] !== 0;
  return (
    <Table
      label={label}
      columns={columns}
      rows={rows.filter(isShown).slice(0, MOST_ROWS)}
      rowKey={(row) => row.move}
      isMarked={(row) => row.index === 0}
      onHover={(row) => (hovered.value = row?.move ?? null)}
      onPick={pick}
      empty="No search of this position yet."
      minRows={minRows}
    />
  );
}

/** The line of a move, as ghost stones. */
export const lineOf = (search: Search | null, move: string | null, size: number): Ghost[] =>
  search && move ? ghostsOf((search.lines[move] ?? [move]).slice(0, LONGEST_LINE), search.to_play, size) : [];
