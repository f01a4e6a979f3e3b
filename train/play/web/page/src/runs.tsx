// Runs: training runs, live, and the shapes that they have learned.

import { computed, effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import { Chart, type Line } from "./chart";
import { type Column, percent, Segments, Select, signed, Table, whole } from "./controls";
import { showError } from "./notices";
import { weightFiles } from "./players";
import { get, hello, isConnected } from "./server";
import { Shape } from "./shape";
import type { Curves, Run, Runs, Shapes } from "./types";
import { isShown } from "./views";

const POLL_MS = 2_000;
const TOP_SHAPES = 60;
const MOST_ROWS = 12; // of runs, before the table scrolls

const runs = signal<Runs | null>(null);
const chosen = signal<string | null>(null); // the run whose shapes are shown; null: the newest
const laid = signal<ReadonlySet<string>>(new Set()); // runs whose curves are laid over its own
const curves = signal<ReadonlyMap<string, Curves>>(new Map());
const MOST_LAID = 4; // lines that can be told apart
const chosenSource = signal<{ run: string } | { weights: string } | null>(null); // of the shapes
const block = signal<string | null>(null);
const sort = signal<Shapes["sort"]>("weight");
const shapes = signal<Shapes | null>(null);

const shownRuns = computed(() => {
  const known = new Set((runs.value?.runs ?? []).map(({ name }) => name));
  return [...new Set([chosen.value, ...laid.value])].filter((name): name is string => name !== null && known.has(name) && isNetwork(name) === isNetwork(chosen.value)).slice(0, MOST_LAID);
});

/** Where shapes come from: by default, the best weights for the server's board. */
const source = computed(() => {
  const files = weightFiles.value;
  const file = files.find(({ is_default, size }) => is_default && size === hello.value?.size) ?? files[0];
  return chosenSource.value ?? (file ? { weights: file.name } : null);
});

async function poll(): Promise<void> {
  try {
    runs.value = await get<Runs>("/api/runs");
    const name = chosen.value ?? newest(runs.value.runs)?.name;
    if (!name) return;
    if (chosen.value === null) choose(name);
    for (const run of shownRuns.value) await follow(run);
  } catch (error) {
    showError(error);
  }
}

/** Fetch what a run has logged since the last time. */
async function follow(name: string): Promise<void> {
  const known = curves.value.get(name);
  const news = await get<Curves>("/api/runs/curves", { run: name, after: known?.next ?? 0 });
  curves.value = new Map([...curves.value, [name, known && news.after === known.next ? joined(known, news) : news]]);
}

/** Show a run's curves and its shapes. */
function choose(name: string): void {
  chosen.value = name;
  if (!isNetwork(name)) [chosenSource.value, block.value] = [{ run: name }, null]; // a network has no shapes
}

function layOver(name: string, on: boolean): void {
  const others = [...laid.value].filter((other) => other !== name);
  laid.value = new Set(on ? [...others, name].slice(1 - MOST_LAID) : others);
  void poll();
}

const isNetwork = (name: string | null): boolean => (runs.value?.runs.find((run) => run.name === name)?.rounds ?? null) !== null;

const newest = (all: Run[]): Run | undefined => all.reduce<Run | undefined>((a, b) => (a && a.started >= b.started ? a : b), undefined);

function joined(old: Curves, news: Curves): Curves {
  const names = new Set([...Object.keys(old.curves), ...Object.keys(news.curves)]);
  const both = [...names].map((name): [string, [number, number][]] => [name, [...(old.curves[name] ?? []), ...(news.curves[name] ?? [])]]);
  return { ...news, curves: Object.fromEntries(both) };
}

effect(() => {
  if (!isShown("runs") || !isConnected.value) return;
  const from = source.value;
  if (!from) return;
  const query = { ...from, block: block.value, sort: "run" in from ? sort.value : "weight", top: TOP_SHAPES };
  get<Shapes>("/api/runs/shapes", query).then((answer) => (shapes.value = answer), showError);
});

export function RunsView(): JSX.Element {
  const hasRuns = hello.value?.has_runs ?? false;
  useEffect(() => {
    if (!hasRuns) return;
    void poll();
    const timer = setInterval(() => isConnected.value && !document.hidden && void poll(), POLL_MS);
    return () => clearInterval(timer);
  }, [hasRuns]);
  return (
    <div class="view">
      <section class="card wide" aria-label="Training runs">
        <div class="row spread">
          <h2>Training runs{runs.value ? ` in ${runs.value.folder}` : ""}</h2>
          <span class="muted">More curves: make tensorboard</span>
        </div>
        <RunTable />
      </section>
      {hasRuns && <RunCurves />}
      <ShapesCard />
    </div>
  );
}

const RUN_COLUMNS: Column<Run>[] = [
  {
    key: "laid",
    title: "Compare",
    hint: "lay the run's curves over those of the chosen one",
    value: (run) => Number(laid.value.has(run.name)),
    show: (run) => (
      <input
        type="checkbox"
        aria-label={`Compare ${run.name}`}
        checked={laid.value.has(run.name) || run.name === chosen.value}
        disabled={run.name === chosen.value}
        onClick={(event) => event.stopPropagation()}
        onChange={(event) => layOver(run.name, event.currentTarget.checked)}
      />
    ),
    isText: true,
  },
  { key: "name", title: "Run", value: (run) => run.name, isText: true },
  { key: "state", title: "State", value: (run) => run.state, show: (run) => <span title={run.reason}>{run.state}</span>, isText: true },
  { key: "games", title: "Games", value: (run) => run.games, show: (run) => (run.of ? `${whole(run.games)} of ${whole(run.of)}` : whole(run.games)) },
  { key: "done", title: "%", value: (run) => (run.of ? run.games / run.of : null), show: (run) => percent(run.of ? run.games / run.of : null, 0) },
  { key: "elo", title: "Elo", value: (run) => run.elo, show: (run) => whole(run.elo) },
  { key: "size", title: "Board", value: (run) => run.size, show: (run) => (run.size === null ? "–" : `${run.size}×${run.size}`) },
  { key: "features", title: "Features", value: (run) => run.features, isText: true },
  { key: "started", title: "Started", value: (run) => run.started, show: (run) => run.started.slice(0, 16).replace("T", " "), isText: true },
];

function RunTable(): JSX.Element {
  const isMissing = hello.value !== null && !hello.value.has_runs;
  return (
    <Table
      label="List of runs"
      columns={RUN_COLUMNS}
      rows={runs.value?.runs ?? []}
      rowKey={(run) => run.name}
      isMarked={(run) => run.name === chosen.value}
      onHover={() => undefined}
      onPick={(run) => {
        choose(run.name);
        void poll();
      }}
      minRows={Math.min(MOST_ROWS, Math.max(3, runs.value?.runs.length ?? 0))}
      empty={isMissing ? "No folder of runs: start with “rlgo web --runs FOLDER”." : "No runs in this folder yet: “rlgo train quick” makes one."}
    />
  );
}

interface CurveOf {
  title: string;
  unit: string;
  format: (y: number) => string;
  of: (run: Run) => Line[];
}

/** Curves that a run logs; with a name of their own where a run has several, and only if it has them. */
const logged = (run: Run, keys: RegExp, name = (_: string): string => run.name): Line[] =>
  Object.entries(curves.value.get(run.name)?.curves ?? {}).flatMap(([key, points]) => (keys.test(key) ? [{ name: name(key), points }] : []));

const three = (y: number): string => y.toPrecision(3);

const CURVES: CurveOf[] = [
  { title: "Elo", unit: "games", format: whole, of: (run) => logged(run, /^strength\/elo$/) },
  { title: "Games per second", unit: "games", format: whole, of: (run) => logged(run, /^speed\/games_per_s$/) },
  { title: "Mean |δV|", unit: "games", format: three, of: (run) => logged(run, /^learning\/mean_abs_delta$/) },
];

const byRound = (run: Run, key: string, text = ""): Line => ({ name: run.name + text, points: run.rounds?.[key] ?? [] });

const NETWORK_CURVES: CurveOf[] = [
  {
    title: "Loss",
    unit: "steps",
    format: three,
    of: (run) => logged(run, /^loss(_held_out_.*)?\/total$/, (key) => `${run.name}, ${/held_out/.test(key) ? "held out" : "learning"}`),
  },
  { title: "Held-out games", unit: "rounds", format: three, of: (run) => [byRound(run, "value_loss", ", outcome"), byRound(run, "policy_loss", ", moves")] },
  { title: "Elo", unit: "rounds", format: whole, of: (run) => [byRound(run, "elo")] },
];

function RunCurves(): JSX.Element {
  const shown = shownRuns.value.flatMap((name) => runs.value?.runs.find((run) => run.name === name) ?? []);
  return (
    <section class="card wide" aria-label="Curves">
      <h2>{shownRuns.value.join(", ") || "…"}</h2>
      <div class="three">
        {(isNetwork(chosen.value) ? NETWORK_CURVES : CURVES).map(({ title, unit, format, of }) => (
          <figure key={title} class="stack">
            <h3>{title}</h3>
            <Chart label={`${title} by ${unit}`} lines={shown.flatMap(of)} xLabel={unit} height={190} format={format} />
          </figure>
        ))}
      </div>
    </section>
  );
}

function ShapesCard(): JSX.Element {
  const now = shapes.value;
  const from = source.value;
  const isRun = from !== null && "run" in from;
  const value = from === null ? "" : "run" in from ? `r ${from.run}` : `w ${from.weights}`;
  const options = [
    ...(runs.value?.runs ?? []).filter(({ rounds }) => !rounds).map(({ name }): [string, string] => [`r ${name}`, `run ${name}`]),
    ...weightFiles.value.map(({ name }): [string, string] => [`w ${name}`, name]),
  ];
  return (
    <section class="card wide" aria-label="Strongest shapes">
      <h2>Strongest shapes</h2>
      <div class="fields">
        <Select
          label="Learned by"
          value={value}
          options={options}
          onChange={(text) => {
            const name = text.slice(2);
            [chosenSource.value, block.value] = [text.startsWith("r") ? { run: name } : { weights: name }, null];
          }}
        />
        <Select
          label="Block"
          value={now?.block ?? ""}
          options={(now?.blocks ?? []).map((name) => [name, name])}
          onChange={(name) => (block.value = name)}
        />
        {isRun && (
          <Segments<Shapes["sort"]>
            label="Sorted by"
            value={sort.value}
            options={[
              ["weight", "by weight"],
              ["occurrences", "by frequency"],
            ]}
            onChange={(key) => (sort.value = key)}
          />
        )}
      </div>
      <div class="shapes">
        {now?.shapes.map((shape, i) => (
          <figure key={i} class="shape">
            <Shape cells={shape.cells} />
            <figcaption>
              <b>{signed(shape.weight)}</b>
              <br />
              <span class="muted">
                {shape.occurrences === null ? " " : `${whole(shape.occurrences)}×`}
                {now.block.endsWith("LD") ? ` ${shape.vertex}` : ""}
              </span>
            </figcaption>
          </figure>
        ))}
      </div>
      <p class="muted">Colours are swapped where needed, so that every shape shown favours Black.</p>
    </section>
  );
}
