// Small things that several views use.

import { useId, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";

interface ButtonProps {
  onClick: () => void;
  children: ComponentChildren;
  shortcut?: string; // shown in the tooltip
  primary?: boolean;
  disabled?: boolean;
  pressed?: boolean;
  label?: string; // if the content is not text
}

export function Button({ onClick, children, shortcut, primary, disabled, pressed, label }: ButtonProps): JSX.Element {
  const title = [label, shortcut && `key: ${shortcut}`].filter(Boolean).join(", ");
  return (
    <button
      type="button"
      class={primary ? "primary" : undefined}
      disabled={disabled}
      aria-pressed={pressed}
      aria-label={label}
      aria-keyshortcuts={shortcut}
      title={title || undefined}
      onClick={onClick}
    >
      {children}
    </button>
  );
}

const ICONS = {
  first: "M5 4V16M15 4L8 10L15 16Z",
  back: "M14 4L6 10L14 16Z",
  on: "M6 4L14 10L6 16Z",
  last: "M15 4V16M5 4L12 10L5 16Z",
  close: "M5 5L15 15M15 5L5 15",
};

export function Icon({ name }: { name: keyof typeof ICONS }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}

/** A number under its name, in a <dl class="numbers">. */
export function Fact({ name, value, hint }: { name: string; value: string; hint?: string }): JSX.Element {
  return (
    <div title={hint}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

interface FieldProps {
  label: string;
  children: (id: string) => JSX.Element;
  hint?: string;
}

export function Field({ label, children, hint }: FieldProps): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label for={id} title={hint}>
        {label}
      </label>
      {children(id)}
    </div>
  );
}

interface SelectProps {
  label: string;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
  onChange: (value: string) => void;
}

export function Select({ label, value, options, onChange }: SelectProps): JSX.Element {
  return (
    <Field label={label}>
      {(id) => (
        <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {options.map(([key, text]) => (
            <option key={key} value={key}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface NumberProps {
  label: string;
  value: number;
  min: number;
  max: number;
  step?: number;
  onChange: (value: number) => void;
}

export function NumberField({ label, value, min, max, step = 1, onChange }: NumberProps): JSX.Element {
  return (
    <Field label={label}>
      {(id) => (
        <input
          id={id}
          type="number"
          inputMode="decimal"
          {...{ min, max, step, value }}
          onChange={(event) => {
            const number = event.currentTarget.valueAsNumber;
            if (Number.isFinite(number)) onChange(Math.min(max, Math.max(min, number)));
          }}
        />
      )}
    </Field>
  );
}

interface SegmentsProps<T extends string> {
  label: string;
  value: T;
  options: readonly (readonly [value: T, text: string, name?: string])[]; // a name in place of a sign
  onChange: (value: T) => void;
}

interface SearchBarProps {
  button: string;
  onClick: () => void;
  disabled?: boolean;
  text: string; // what it searches with
  children: ComponentChildren; // the fields that change it
}

/** A view's main button, and what it searches with. */
export function SearchBar({ button, onClick, disabled, text, children }: SearchBarProps): JSX.Element {
  return (
    <div class="search-bar">
      <Button onClick={onClick} shortcut="Space" primary disabled={disabled}>
        {button}
      </Button>
      <details>
        <summary>{text}</summary>
        <div class="fields">{children}</div>
      </details>
    </div>
  );
}

/** Radio buttons that look like one row of buttons. */
export function Segments<T extends string>({ label, value, options, onChange }: SegmentsProps<T>): JSX.Element {
  const name = useId();
  return (
    <fieldset class="segments">
      <legend class="hidden">{label}</legend>
      {options.map(([key, text, spoken]) => (
        <label key={key} title={spoken}>
          <input type="radio" aria-label={spoken} {...{ name, value: key }} checked={key === value} onChange={() => onChange(key)} />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}

export interface Column<Row> {
  key: string;
  title: string;
  hint?: string;
  value: (row: Row) => number | string | null; // sorted by this
  show?: (row: Row) => ComponentChildren;
  isText?: boolean;
}

interface TableProps<Row> {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  rowKey: (row: Row) => string;
  isMarked?: (row: Row) => boolean;
  onHover?: (row: Row | null) => void;
  onPick?: (row: Row, isTouch: boolean) => void;
  empty: string;
  minRows?: number; // height of the table in rows, so that nothing moves when they come
}

export const isNarrow = matchMedia("(max-width: 860px)"); // as in style.css: tables are below the board
const HEAD_PIXELS = 33;
const ROW_PIXELS = 29;

/** A table that sorts by a click on a column's head. Rows without a value come last. */
export function Table<Row>(props: TableProps<Row>): JSX.Element {
  const { columns, rows, onHover, onPick } = props;
  const [sort, setSort] = useState<[string, -1 | 1]>(["", -1]);
  const column = columns.find((c) => c.key === sort[0]);
  const sorted = column ? [...rows].sort((a, b) => compare(column.value(a), column.value(b), sort[1])) : rows;
  const height = props.minRows ? { height: `${HEAD_PIXELS + props.minRows * ROW_PIXELS}px` } : undefined;
  const state = (key: string): "ascending" | "descending" | "none" =>
    key !== sort[0] ? "none" : sort[1] > 0 ? "ascending" : "descending";
  return (
    <div class="table" style={height} role="region" aria-label={props.label} tabIndex={0} onPointerLeave={(event) => event.pointerType !== "touch" && onHover?.(null)}>
      <table>
        <thead>
          <tr>
            {columns.map((c) => (
              <th key={c.key} scope="col" class={c.isText ? "text" : undefined} aria-sort={state(c.key)} title={c.hint}>
                {c.title ? (
                  <button type="button" onClick={() => setSort([c.key, sort[0] === c.key ? (-sort[1] as -1 | 1) : -1])}>
                    {c.title}
                  </button>
                ) : (
                  <span class="hidden">{c.key}</span>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <tr
              key={props.rowKey(row)}
              class={props.isMarked?.(row) ? "marked" : undefined}
              tabIndex={onHover ? 0 : undefined}
              onPointerEnter={(event) => event.pointerType !== "touch" && onHover?.(row)} // a finger has the focus instead
              onFocus={() => onHover?.(row)}
              onBlur={() => onHover?.(null)}
              onClick={(event) => {
                onPick?.(row, (event as unknown as PointerEvent).pointerType === "touch");
                if (onPick && isNarrow.matches) document.querySelector(".board")?.scrollIntoView({ block: "nearest" });
              }}
              onKeyDown={(event) => event.key === "Enter" && onPick?.(row, false)}
            >
              {columns.map((c) => (
                <td key={c.key} class={c.isText ? "text" : undefined}>
                  {c.show ? c.show(row) : c.value(row)}
                </td>
              ))}
            </tr>
          ))}
          {rows.length === 0 && (
            <tr>
              <td class="text muted" colSpan={columns.length}>
                {props.empty}
              </td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

function compare(a: number | string | null, b: number | string | null, sign: 1 | -1): number {
  if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
  return sign * (a < b ? -1 : a > b ? 1 : 0);
}

export const percent = (share: number | null | undefined, digits = 1): string =>
  share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)}`;

/** With its unit: "50 %" or "49.5 %". */
export const perCent = (share: number | null | undefined): string =>
  `${percent(share, share && Math.abs(100 * share - Math.round(100 * share)) < 0.05 ? 0 : 1)} %`;

export const whole = (n: number | null | undefined): string => (n === null || n === undefined ? "–" : Math.round(n).toLocaleString("en"));

export const signed = (n: number, digits = 3): string => `${n < 0 ? "−" : "+"}${Math.abs(n).toFixed(digits)}`;

export function clockText(seconds: number): string {
  const s = Math.max(0, Math.ceil(seconds));
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
}
