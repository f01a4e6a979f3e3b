// The board: stones, and what can be drawn over them. One unit of the picture is a tenth of the distance of two lines.

import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { BLACK, columnName, type Color, EMPTY, fromSgf, pointsOf, starPoints, toVertex, WHITE } from "./go";
import type { Marks } from "./types";

/** Something drawn on a point; all of it is optional. */
export interface Mark {
  point: number;
  fill?: string; // of a disc
  radius?: number;
  ink?: string; // of the text on it
  text?: string;
  small?: string; // a second line of text
  brief?: string; // both in two characters or so, for a dense board
  about?: string; // all that is known, shown while something points at it
  isBest?: boolean; // gets a ring
  isLabel?: boolean; // a letter on the wood, rather than a disc
}

/** A stone that is not there: part of a variation. */
export interface Ghost {
  point: number;
  color: Color;
  label?: string;
}

/** A rectangle of points with a text at its corner. */
export interface Frame {
  row: number;
  column: number;
  size: number;
  color: Color; // whom it speaks for
  weight: number; // 0 to 1: how thick
  text?: string;
}

export interface BoardProps {
  size: number;
  stones: Uint8Array;
  label: string;
  last?: number; // the last move, or a number below 0
  turn?: Color | 0; // whose stone follows the pointer; 0: none
  marks?: Mark[];
  drawn?: Marks; // a record's
  ghosts?: Ghost[];
  frames?: Frame[];
  owners?: number[]; // of each point: 1 is surely Black's, -1 surely White's
  dead?: ReadonlySet<number>;
  selected?: number;
  note?: string; // said at the top of the board
  onPoint?: (point: number) => void;
  onStep?: (moves: number) => boolean; // with the wheel; returns whether there is such a move
}

const UNIT = 10;
const MARGIN = 6; // from the outermost line to the edge
const COORDINATES = 3.6; // more on the left and below, for coordinates
const LEFT = MARGIN + COORDINATES;
const OWNER_OPACITY = 0.6;
const UNSURE = 0.2; // owners that are less sure are not shown
const DENSE_PIXELS = 30; // lines closer than this are hard to hit with a finger, and small text does not fit
const WHEEL_PIXELS = 50; // of scrolling for one move: a notch of a wheel is more
const LINE_PIXELS = 20; // of scrolling, where a browser counts lines
const LETTER_PIXELS = 12.5; // of coordinates

export function Board(props: BoardProps): JSX.Element {
  const { size, stones, onPoint } = props;
  const id = useId();
  const svg = useRef<SVGSVGElement>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const [cursor, setCursor] = useState<number | null>(null); // of the keyboard
  const wheeled = useRef(0);
  const width = (size - 1) * UNIT + 2 * MARGIN + COORDINATES;
  const [pixels, setPixels] = useState(40); // from line to line
  const isDense = pixels < DENSE_PIXELS;
  const x = (point: number): number => LEFT + (point % size) * UNIT;
  const y = (point: number): number => MARGIN + (size - 1 - Math.floor(point / size)) * UNIT;

  useEffect(() => {
    setHovered(null);
    setCursor(null);
  }, [size]);

  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setPixels(Math.round((entry!.contentRect.width / width) * UNIT)));
    observer.observe(svg.current!);
    return () => observer.disconnect();
  }, [width]);

  function pointAt(event: { clientX: number; clientY: number }): number | null {
    const box = svg.current!.getBoundingClientRect();
    const scale = width / box.width;
    const column = Math.round(((event.clientX - box.left) * scale - LEFT) / UNIT);
    const row = size - 1 - Math.round(((event.clientY - box.top) * scale - MARGIN) / UNIT);
    return column >= 0 && column < size && row >= 0 && row < size ? row * size + column : null;
  }

  function hover(point: number | null): void {
    if (point === hovered) return;
    setHovered(point);
  }

  /** A finger on a dense board first shows where it is; a second tap plays. */
  function press(event: PointerEvent): void {
    const point = pointAt(event);
    if (point === null || event.button !== 0) return;
    if (event.pointerType === "touch" && isDense && hovered !== point && stones[point] === EMPTY) {
      hover(point);
      return;
    }
    if (event.pointerType === "touch") hover(null);
    onPoint?.(point);
  }

  function turnWheel(event: WheelEvent): void {
    if (event.ctrlKey || !props.onStep) return; // which zooms
    const moves = Math.sign(event.deltaY);
    wheeled.current = (Math.sign(wheeled.current) === moves ? wheeled.current : 0) + event.deltaY * (event.deltaMode ? LINE_PIXELS : 1);
    const isEnough = Math.abs(wheeled.current) >= WHEEL_PIXELS;
    if (isEnough && !props.onStep(moves)) return; // the page scrolls
    if (isEnough) wheeled.current = 0;
    event.preventDefault();
  }

  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0] }[event.key];
    const here = cursor ?? Math.floor((size * size) / 2);
    if (step) {
      const within = (n: number): number => Math.min(size - 1, Math.max(0, n));
      const next = within(Math.floor(here / size) + step[0]!) * size + within((here % size) + step[1]!);
      setCursor(next);
      hover(next);
    } else if ((event.key === "Enter" || event.key === " ") && cursor !== null) {
      onPoint?.(cursor);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  // What has not changed is not drawn anew: marks change ten times a second, stones do not.
  const letters = Math.min(3.3, (LETTER_PIXELS * UNIT) / pixels);
  const lines = useMemo(() => <Lines size={size} letters={letters} />, [size, letters]);
  const placed = useMemo(
    () => <Stones size={size} stones={stones} id={id} dead={props.dead} />,
    [size, stones, props.dead],
  );
  const cells = useMemo(() => <Cells size={size} stones={stones} id={id} last={props.last ?? -1} />, [size, stones, props.last]);
  const ghostTurn = props.turn && hovered !== null && stones[hovered] === EMPTY ? props.turn : 0;
  const note = props.marks?.find(({ point }) => point === hovered)?.about ?? props.note;
  return (
    <div class="board-frame">
      <svg
        ref={svg}
        class="board"
        viewBox={`0 0 ${width} ${width}`}
        role="grid"
        aria-label={props.label}
        aria-rowcount={size}
        aria-colcount={size}
        aria-activedescendant={cursor === null ? undefined : `${id}-${cursor}`}
        tabIndex={onPoint ? 0 : -1}
        data-size={size}
        onPointerMove={(event) => event.pointerType !== "touch" && hover(pointAt(event))}
        onPointerLeave={(event) => event.pointerType !== "touch" && hover(null)}
        onMouseDown={(event) => event.preventDefault()} // the arrow keys stay with the game
        onPointerUp={press}
        onFocus={() => setCursor(cursor ?? Math.floor((size * size) / 2))}
        onBlur={() => setCursor(null)}
        onWheel={turnWheel}
        onKeyDown={onKeyDown}
      >
        {lines}
        <filter id={`${id}-soft`}>
          <feGaussianBlur stdDeviation={1.5} />
        </filter>
        <g filter={`url(#${id}-soft)`}>
          {props.owners?.map((owner, point) =>
            Math.abs(owner) < UNSURE ? null : (
              <rect
                key={point}
                class={owner > 0 ? "owner black" : "owner white"}
                x={x(point) - UNIT / 2}
                y={y(point) - UNIT / 2}
                width={UNIT}
                height={UNIT}
                opacity={OWNER_OPACITY * Math.abs(owner)}
              />
            ),
          )}
        </g>
        {placed}
        <g class="marks">
          {props.marks?.map((mark) => (
            <MarkAt key={mark.point} mark={mark} isDense={isDense} x={x(mark.point)} y={y(mark.point)} />
          ))}
        </g>
        <g class="drawn">
          {Object.entries(props.drawn ?? {}).flatMap(([name, marks]) =>
            marks.flatMap((mark) => {
              const text = mark.slice(3);
              const to = fromSgf(text, size);
              const points = pointsOf(["LB", "LN", "AR"].includes(name) ? mark.slice(0, 2) : mark, size);
              return points.map((p) => (
                <DrawnAt key={`${name} ${p} ${text}`} {...{ name, text }} stone={stones[p]!} x={x(p)} y={y(p)} toX={x(to)} toY={y(to)} />
              ));
            }),
          )}
        </g>
        {props.frames?.map((frame, i) => (
          <FrameAt key={i} frame={frame} x={LEFT + frame.column * UNIT} y={y((frame.row + frame.size - 1) * size)} />
        ))}
        {props.ghosts?.map(({ point, color, label }) => (
          <g key={point} class="ghost">
            <Stone x={x(point)} y={y(point)} color={color} />
            {label && (
              <text class={color === BLACK ? "on-black" : "on-white"} x={x(point)} y={y(point)}>
                {label}
              </text>
            )}
          </g>
        ))}
        {ghostTurn !== 0 && <Stone x={x(hovered!)} y={y(hovered!)} color={ghostTurn} ghost />}
        {props.last !== undefined && props.last >= 0 && stones[props.last] !== EMPTY && (
          <circle class={stones[props.last] === BLACK ? "last on-black" : "last"} cx={x(props.last)} cy={y(props.last)} r={1.9} />
        )}
        {props.selected !== undefined && props.selected >= 0 && (
          <rect class="selected" x={x(props.selected) - 4.8} y={y(props.selected) - 4.8} width={9.6} height={9.6} rx={1} />
        )}
        {cursor !== null && <circle class="cursor" cx={x(cursor)} cy={y(cursor)} r={4.9} />}
        {cells}
      </svg>
      {note && <p class="note">{note}</p>}
    </div>
  );
}

function Lines({ size, letters }: { size: number; letters: number }): JSX.Element {
  const span = (size - 1) * UNIT;
  const [right, bottom] = [LEFT + span, MARGIN + span];
  const range = [...Array(size).keys()];
  const side = span + 2 * MARGIN + COORDINATES;
  return (
    <g aria-hidden="true">
      <rect class="wood" width={side} height={side} rx={1.6} />
      <path
        class="lines"
        d={range.map((i) => `M${LEFT + i * UNIT} ${MARGIN}V${bottom}M${LEFT} ${MARGIN + i * UNIT}H${right}`).join("")}
      />
      <rect class="edge" x={LEFT} y={MARGIN} width={span} height={span} />
      {starPoints(size).map((p) => (
        <circle key={p} class="star" cx={LEFT + (p % size) * UNIT} cy={bottom - Math.floor(p / size) * UNIT} r={size > 13 ? 1.1 : 0.9} />
      ))}
      {range.map((i) => (
        <g key={i} class="coordinates" style={{ fontSize: `${letters}px` }}>
          <text x={LEFT + i * UNIT} y={bottom + LEFT - 2.6}>
            {columnName(i)}
          </text>
          <text x={2.6} y={bottom - i * UNIT}>
            {i + 1}
          </text>
        </g>
      ))}
    </g>
  );
}

function Stone({ x, y, color, ghost }: { x: number; y: number; color: Color; ghost?: boolean }): JSX.Element {
  return <circle class={`${color === BLACK ? "stone black" : "stone white"}${ghost ? " ghost" : ""}`} cx={x} cy={y} r={4.72} />;
}

interface StonesProps {
  size: number;
  stones: Uint8Array;
  id: string;
  dead?: ReadonlySet<number>;
}

function Stones({ size, stones, id, dead }: StonesProps): JSX.Element {
  return (
    <g aria-hidden="true">
      <defs>
        <radialGradient id={`${id}-black`} cx="36%" cy="30%" r="75%">
          <stop offset="0" class="black-light" />
          <stop offset="1" class="black-dark" />
        </radialGradient>
        <radialGradient id={`${id}-white`} cx="36%" cy="30%" r="80%">
          <stop offset="0" class="white-light" />
          <stop offset="0.6" class="white-middle" />
          <stop offset="1" class="white-dark" />
        </radialGradient>
      </defs>
      {[...stones.keys()].map((point) => {
        const color = stones[point];
        if (color === EMPTY) return null;
        const [x, y] = [LEFT + (point % size) * UNIT, MARGIN + (size - 1 - Math.floor(point / size)) * UNIT];
        const isDead = dead?.has(point) ?? false;
        return (
          <g key={point} class={isDead ? "dead" : undefined}>
            <circle class="shadow" cx={x + 0.3} cy={y + 0.5} r={4.72} />
            <circle
              class={color === BLACK ? "stone black" : "stone white"}
              fill={`url(#${id}-${color === BLACK ? "black" : "white"})`}
              cx={x}
              cy={y}
              r={4.72}
            />
            {isDead && <path class="cross" d={`M${x - 1.7} ${y - 1.7}l3.4 3.4m0 -3.4l-3.4 3.4`} />}
          </g>
        );
      })}
    </g>
  );
}

function MarkAt({ mark, isDense, x, y }: { mark: Mark; isDense: boolean; x: number; y: number }): JSX.Element {
  const isBrief = isDense && mark.brief !== undefined;
  const [text, small] = isBrief ? [mark.brief] : [mark.text, mark.small];
  return (
    <g>
      {mark.isLabel && <circle class={mark.isBest ? "ground best" : "ground"} cx={x} cy={y} r={3.6} />}
      {mark.fill && mark.isBest && <circle class="around" cx={x} cy={y} r={5.3} />}
      {mark.fill && <circle class={mark.isBest ? "disc best" : "disc"} cx={x} cy={y} r={mark.radius ?? 4.6} fill={mark.fill} />}
      {text && (
        <text class={mark.isLabel ? "label" : text.length > 3 ? "narrow" : isBrief ? "brief" : undefined} x={x} y={small ? y - 1.4 : y} fill={mark.ink}>
          {text}
        </text>
      )}
      {small && (
        <text class="small" x={x} y={y + 2} fill={mark.ink}>
          {small}
        </text>
      )}
    </g>
  );
}

interface DrawnProps {
  name: string; // SGF's
  text: string;
  x: number;
  y: number;
  toX: number; // where a line ends
  toY: number;
  stone: number; // EMPTY, BLACK or WHITE
}

function DrawnAt({ name, text, x, y, toX, toY, stone }: DrawnProps): JSX.Element {
  const angle = (Math.atan2(toY - y, toX - x) * 180) / Math.PI;
  const paths: Record<string, string> = {
    TR: `M${x} ${y - 2.8}l2.5 4.3h-5z`,
    SQ: `M${x - 2.1} ${y - 2.1}h4.2v4.2h-4.2z`,
    MA: `M${x - 2} ${y - 2}l4 4m0 -4l-4 4`,
    CR: `M${x - 2.3} ${y}a2.3 2.3 0 0 0 4.6 0a2.3 2.3 0 0 0 -4.6 0`,
  };
  if (name === "LB") {
    return (
      <g class="marks">
        {stone === EMPTY && <circle class="ground" cx={x} cy={y} r={3.6} />}
        <text class={`${text.length > 2 ? "narrow" : "label"} ${stone === BLACK ? "on-black" : ""}`} x={x} y={y}>
          {text}
        </text>
      </g>
    );
  }
  if (paths[name]) return <path class={stone === BLACK ? "on-black" : ""} d={paths[name]} />;
  return (
    <g class="between">
      <path d={`M${x} ${y}L${toX} ${toY}`} />
      {name === "AR" && <path d="M-2.6 -1.5L0 0L-2.6 1.5" transform={`translate(${toX} ${toY}) rotate(${angle})`} />}
    </g>
  );
}

function FrameAt({ frame, x, y }: { frame: Frame; x: number; y: number }): JSX.Element {
  const side = (frame.size - 1) * UNIT + 9;
  if (frame.size === 1) {
    return (
      <g class={frame.color === BLACK ? "frame for-black" : "frame for-white"}>
        <text class="centred" x={x} y={y}>
          {frame.text}
        </text>
      </g>
    );
  }
  return (
    <g class={frame.color === BLACK ? "frame for-black" : "frame for-white"}>
      <rect x={x - 4.5} y={y - 4.5} width={side} height={side} rx={1.2} stroke-width={0.4 + 0.8 * frame.weight} />
      {frame.text && (
        <text x={x - 3.4} y={y - 2.4}>
          {frame.text}
        </text>
      )}
    </g>
  );
}

interface CellsProps {
  size: number;
  stones: Uint8Array;
  id: string;
  last: number;
}

/** What screen readers hear of the board. */
function Cells({ size, stones, id, last }: CellsProps): JSX.Element {
  const describe = (point: number): string => {
    const color = stones[point];
    const content = color === BLACK ? "black" : color === WHITE ? "white" : "empty";
    return `${toVertex(point, size)}, ${content}${point === last ? ", last move" : ""}`;
  };
  const range = [...Array(size).keys()];
  return (
    <g>
      {range.map((i) => (
        <g key={i} role="row">
          {range.map((column) => {
            const point = (size - 1 - i) * size + column;
            return <g key={column} id={`${id}-${point}`} role="gridcell" aria-label={describe(point)} />;
          })}
        </g>
      ))}
    </g>
  );
}
