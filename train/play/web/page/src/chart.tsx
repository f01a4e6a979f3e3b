// A line chart: a few lines over a common x, with a crosshair that reads the values.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { LINE_CLASSES } from "./scales";

export interface Line {
  name: string;
  points: [number, number][]; // ascending in x
}

interface ChartProps {
  lines: Line[];
  label: string;
  xLabel: string;
  height?: number;
  format?: (y: number) => string;
  range?: [number, number]; // of y; by default, of the points
  at?: number; // an x that is marked
  dots?: { x: number; y: number; kind: string }[];
  onPick?: (x: number) => void;
}

const LEFT = 54;
const RIGHT = 20; // half the width of the last number on the x axis
const TOP = 10;
const BOTTOM = 34;

export const compact = (n: number): string =>
  Math.abs(n) >= 10_000 ? Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(n).replace("K", "k") : round(n);

function round(n: number): string {
  if (Number.isInteger(n)) return n.toLocaleString("en");
  return Math.abs(n) >= 100 ? n.toFixed(0) : Math.abs(n) >= 1 ? n.toFixed(2) : n.toPrecision(2);
}

/** About n round numbers from low to high, `least` apart or more. */
function ticks(low: number, high: number, n: number, least = 0): number[] {
  const rough = (high - low) / n || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(least, [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough)!);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
}

function extent(numbers: number[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const n of numbers) {
    if (n < low) low = n;
    if (n > high) high = n;
  }
  if (low > high) return [0, 1];
  if (low === high) return [low - (Math.abs(low) || 1) * 0.1, high + (Math.abs(high) || 1) * 0.1];
  return [low, high];
}

export function Chart(props: ChartProps): JSX.Element {
  const { lines, height = 200, format = compact } = props;
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [hovered, setHovered] = useState<number | null>(null);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, []);

  const [x0, x1] = extent(lines.flatMap((line) => line.points.map(([x]) => x)));
  const ys = lines.flatMap((line) => line.points.map(([, y]) => y));
  const [low, high] = props.range ?? extent(ys);
  const pad = props.range ? 0 : (high - low) * 0.06;
  const [y0, y1] = [low - pad, high + pad];
  const px = (x: number): number => LEFT + ((x - x0) / (x1 - x0)) * (width - LEFT - RIGHT);
  const py = (y: number): number => TOP + ((y1 - y) / (y1 - y0)) * (height - TOP - BOTTOM);
  const toX = (event: PointerEvent): number => {
    const box = frame.current!.getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT) / Math.max(1, width - LEFT - RIGHT);
    return x0 + Math.min(1, Math.max(0, share)) * (x1 - x0);
  };
  const isEmpty = lines.every((line) => line.points.length === 0);
  const mark = hovered ?? props.at ?? null;

  return (
    <figure class="chart">
      <div ref={frame} class="chart-frame" style={{ height: `${height}px` }}>
        {width > 0 && (
          <svg
            width={width}
            height={height}
            role="img"
            aria-label={`${props.label}. ${lines.map((line) => summary(line, format)).join(" ")}`}
            onPointerMove={(event) => setHovered(toX(event))}
            onPointerLeave={() => setHovered(null)}
            onClick={(event) => props.onPick?.(toX(event as unknown as PointerEvent))}
          >
            {!isEmpty &&
              ticks(y0, y1, 4).map((y) => (
                <g key={y} class="tick">
                  <line x1={LEFT} x2={width - RIGHT} y1={py(y)} y2={py(y)} />
                  <text x={LEFT - 6} y={py(y)} class="y">
                    {format(y)}
                  </text>
                </g>
              ))}
            {!isEmpty &&
              ticks(x0, x1, width < 360 ? 3 : 5, 1).map((x) => (
                <text key={x} class="tick x" x={px(x)} y={height - BOTTOM + 14}>
                  {compact(x)}
                </text>
              ))}
            <text class="x-label" x={(LEFT + width - RIGHT) / 2} y={height - 5}>
              {props.xLabel}
            </text>
            {lines.map((line, i) => (
              <g key={line.name} class={LINE_CLASSES[i % LINE_CLASSES.length]}>
                <path class="line" d={linePath(line.points, px, py)} />
                {line.points.length < 40 && line.points.length > 0 && line.points.map(([x, y]) => <circle key={x} cx={px(x)} cy={py(y)} r={2} />)}
              </g>
            ))}
            {props.dots?.map(({ x, y, kind }) => (
              <circle key={x} class={`dot-${kind}`} cx={px(x)} cy={py(y)} r={4} />
            ))}
            {mark !== null && !isEmpty && <line class="crosshair" x1={px(mark)} x2={px(mark)} y1={TOP} y2={height - BOTTOM} />}
          </svg>
        )}
      </div>
      <figcaption>
        {lines.map((line, i) => {
          const y = valueAt(line.points, mark);
          return (
            <span key={line.name} class={`key ${LINE_CLASSES[i % LINE_CLASSES.length]}`}>
              <svg width="22" height="8" aria-hidden="true">
                <path class="line" d="M0 4H22" />
              </svg>
              {line.name} <b>{y === null ? "–" : format(y)}</b>
            </span>
          );
        })}
        {isEmpty && <span class="muted">no values yet</span>}
      </figcaption>
    </figure>
  );
}

function linePath(points: [number, number][], px: (x: number) => number, py: (y: number) => number): string {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join("");
}

/** The value of the last point at or before x; without x, the last one of all. */
function valueAt(points: [number, number][], x: number | null): number | null {
  const known = x === null ? points : points.filter(([at]) => at <= x);
  return known.at(-1)?.[1] ?? null;
}

function summary(line: Line, format: (y: number) => string): string {
  const [first, last] = [line.points[0], line.points.at(-1)];
  return first && last ? `${line.name}: from ${format(first[1])} to ${format(last[1])}.` : `${line.name}: no values.`;
}
