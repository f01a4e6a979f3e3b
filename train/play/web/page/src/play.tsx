// Play: the game, whoever plays it.

import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { Board } from "./board";
import { Chart } from "./chart";
import { Button, clockText, Fact, Field, Icon, NumberField, percent, Select, signed } from "./controls";
import { capital, fromVertex, NO_POINT, toVertex, type ColorName } from "./go";
import { showError } from "./notices";
import { PlayerField } from "./players";
import { doing, game, hello, request } from "./server";
import * as table from "./table";
import type { Stones } from "./types";

export function PlayView(): JSX.Element {
  const now = game.value;
  return (
    <div class="view board-first">
      <GameBoard />
      <div class="stack">
        <section class="card" aria-label="Players">
          <Seat color="black" />
          <Seat color="white" />
          <p class="result" role="status">
            {now?.is_over ? capital(table.describeResult(now.result)) : statusText()}
          </p>
        </section>
        <section class="card" aria-label="Moves">
          <Navigation />
          <div class="row">
            <Button onClick={table.pass} shortcut="p" disabled={!table.isHumanTurn.value}>
              Pass
            </Button>
            <Button onClick={table.undo} shortcut="u" disabled={!now?.moves.length}>
              Undo
            </Button>
            <Button onClick={table.resign} shortcut="r" disabled={!table.isHumanTurn.value}>
              Resign
            </Button>
            <Button onClick={table.askScore} shortcut="s">
              Score
            </Button>
            <Button onClick={table.letEngineMove} shortcut="g" disabled={now?.is_over ?? true}>
              Engine move
            </Button>
            <Button onClick={table.togglePause} shortcut="Space" pressed={now?.paused ?? false}>
              {now?.paused ? "Paused" : "Pause"}
            </Button>
          </div>
          <MoveField />
        </section>
        <ScoreCard />
        <section class="card" aria-label="Game">
          <div class="row">
            <Button onClick={openNewGame} shortcut="n" primary>
              New game
            </Button>
            <OpenButton />
            <Button onClick={table.saveSgf} shortcut="w">
              Save SGF
            </Button>
          </div>
          {hello.value?.has_sgf && <ServerRecords />}
          <p class="muted">
            {now ? `${now.size}×${now.size}, komi ${now.komi}` : " "}
            {now && placedText(now.setup)}. Drop an SGF file anywhere to open it.
          </p>
        </section>
        <Chances />
      </div>
      <NewGame />
    </div>
  );
}

/** The board of the game, where people play. */
export function GameBoard(): JSX.Element {
  const now = game.value;
  const size = now?.size ?? hello.value?.size ?? 9;
  const score = table.score.value;
  return (
    <Board
      size={size}
      stones={table.stones.value}
      label={`Go board, ${size} by ${size}. ${now ? `${capital(now.to_play)} to play.` : ""}`}
      last={table.lastPoint.value}
      turn={table.isHumanTurn.value ? table.turn.value : 0}
      owners={score?.ownership.flat()}
      dead={score ? new Set(score.dead.flat().map((vertex) => fromVertex(vertex, size))) : undefined}
      onPoint={(point) => void table.playMove(toVertex(point, size))}
    />
  );
}

/** How many stones stood on the board before the first move: of a handicap, or of a position. */
function placedText({ black, white }: Stones): string {
  const count = black.length + white.length;
  return count === 0 ? "" : `, ${count} ${count === 1 ? "stone" : "stones"} placed`;
}

function statusText(): string {
  const now = game.value;
  if (!now) return "Connecting …";
  const engine = doing.value.game;
  if (engine === "preparing" && !table.isHumanTurn.value) return "Preparing the engine; the first time can take a minute …";
  if (engine === "searching" || engine === "waiting") return `${capital(now.to_play)} is thinking …`;
  if (now.at < now.moves.length) return `After move ${now.at} of ${now.moves.length}`;
  return `${capital(now.to_play)} to play${now.paused ? " (paused)" : ""}`;
}

function Seat({ color }: { color: ColorName }): JSX.Element {
  const now = game.value;
  const isTurn = now !== null && !now.is_over && now.to_play === color;
  const seat = now?.seats[color] ?? "…";
  return (
    <div class={isTurn ? "player turn" : "player"}>
      <span class={`dot ${color}`} aria-hidden="true" />
      <div>
        <div class="name" title={seat}>
          {capital(color)}: {seat}
        </div>
        <div class="muted">{now?.captures[color] ?? 0} captured</div>
      </div>
      <Clock color={color} runs={isTurn && doing.value.game === "searching"} />
    </div>
  );
}

/** The engine's clock as the server told it, less what has gone by since. */
function Clock({ color, runs }: { color: ColorName; runs: boolean }): JSX.Element | null {
  const clock = game.value?.clocks[color] ?? null;
  const started = useRef(0);
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!runs || !clock) return;
    started.current = performance.now();
    const timer = setInterval(() => redraw((n) => n + 1), 200);
    return () => clearInterval(timer);
  }, [runs, clock]);
  if (!clock) return null;
  const gone = runs && started.current ? (performance.now() - started.current) / 1000 : 0;
  return (
    <span class="clock" role="timer" aria-label={`${capital(color)}'s time`}>
      {clockText(clock.seconds - gone)}
      {clock.stones > 0 && <small class="muted"> /{clock.stones}</small>}
    </span>
  );
}

export function Navigation(): JSX.Element {
  const { at, moves } = game.value ?? { at: 0, moves: [] };
  return (
    <div class="navigation">
      <Button onClick={() => table.goTo(0)} shortcut="Home" label="To the beginning" disabled={at === 0}>
        <Icon name="first" />
      </Button>
      <Button onClick={() => table.step(-1)} shortcut="ArrowLeft" label="One move back" disabled={at === 0}>
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
      <Button onClick={() => table.step(1)} shortcut="ArrowRight" label="One move on" disabled={at === moves.length}>
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

/** For those who would rather write "D4" than point at it. */
function MoveField(): JSX.Element {
  const text = useSignal("");
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const move = text.value.trim();
    if (!move || !game.value) return;
    if (move.toLowerCase() !== "pass" && fromVertex(move, game.value.size) === NO_POINT) {
      showError(`“${move}”: expected a point such as D4, or pass`);
    } else if (await table.playMove(move.toLowerCase() === "pass" ? "pass" : move.toUpperCase())) {
      text.value = "";
    }
  };
  return (
    <form class="row" onSubmit={(event) => void submit(event)}>
      <label for="move" class="muted">
        Move
      </label>
      <input
        id="move"
        class="move"
        type="text"
        size={6}
        autocomplete="off"
        placeholder="D4"
        aria-keyshortcuts="m"
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
      <button type="submit">Play</button>
    </form>
  );
}

function ScoreCard(): JSX.Element | null {
  const score = table.score.value;
  if (!score) return null;
  const dead = score.dead.flat().length;
  return (
    <section class="card" aria-label="Score">
      <div class="row spread">
        <h2>If the game ended here: {table.describeResult(score.result)}</h2>
        <Button onClick={() => (table.score.value = null)} label="Hide the score">
          <Icon name="close" />
        </Button>
      </div>
      <dl class="numbers">
        <Fact name="Black's lead" value={signed(score.score, 1)} hint="points of area, less komi" />
        <Fact name="Dead stones" value={String(dead)} />
        <Fact name="Black wins playouts" value={`${percent(score.wins, 0)} %`} />
      </dl>
      <p class="muted">Squares show who will own a point, by playouts: the stronger, the surer. Crossed stones count as dead.</p>
    </section>
  );
}

function Chances(): JSX.Element | null {
  const points = [...table.chances.value].sort(([a], [b]) => a - b);
  if (points.length < 2) return null;
  return (
    <section class="card" aria-label="Chances">
      <h2>Black's chances, as the engine sees them</h2>
      <Chart
        label="P(Black wins) by move"
        lines={[{ name: "P(Black wins)", points }]}
        xLabel="moves"
        height={150}
        range={[0, 1]}
        format={(y) => `${percent(y, 0)} %`}
        at={game.value?.at}
        onPick={(x) => table.goTo(Math.round(x))}
      />
    </section>
  );
}

function OpenButton(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button onClick={() => input.current?.click()} shortcut="o">
        Open SGF
      </Button>
      <input
        ref={input}
        id="sgf-file"
        class="hidden"
        type="file"
        accept=".sgf"
        aria-label="SGF file"
        tabIndex={-1}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          if (file) void table.openSgf(file);
          event.currentTarget.value = "";
        }}
      />
    </>
  );
}

/** The records in the folders that the server was started with. */
function ServerRecords(): JSX.Element {
  useEffect(() => void table.loadRecords(), []);
  return (
    <select
      aria-label="Open a record of the server's folder"
      value=""
      onChange={(event) => void table.ask("load", { file: event.currentTarget.value })}
    >
      <option value="">Open from the folder …</option>
      {table.records.value.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

const dialogId = "new-game";

export function openNewGame(): void {
  (document.getElementById(dialogId) as HTMLDialogElement | null)?.showModal();
}

function NewGame(): JSX.Element {
  const server = hello.value;
  const size = useSignal(server?.size ?? 9);
  const komi = useSignal(server?.komi ?? 7.5);
  const handicap = useSignal(0);
  const black = useSignal("human");
  const white = useSignal(server?.player ?? "");
  const time = useSignal("");
  const problem = useSignal("");
  const isBusy = useSignal(false);
  useEffect(() => {
    if (!server || white.value) return;
    [size.value, komi.value, white.value] = [server.size, server.komi, server.player];
  }, [server]);
  const [smallest, largest] = server?.sizes ?? [5, 19];
  const sizes = Array.from({ length: largest - smallest + 1 }, (_, i) => smallest + i);
  const close = (): void => (document.getElementById(dialogId) as HTMLDialogElement).close();
  const send = async (type: "new" | "seats"): Promise<void> => {
    const seats = { black: black.value, white: white.value };
    const rules = { size: size.value, komi: komi.value, handicap: handicap.value, time: time.value.trim() || null };
    isBusy.value = true;
    try {
      await request(type, type === "new" ? { ...seats, ...rules } : seats);
      problem.value = "";
      close();
    } catch (error) {
      problem.value = (error as Error).message;
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <dialog id={dialogId} aria-labelledby="new-game-title">
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void send("new");
        }}
      >
        <h2 id="new-game-title">New game</h2>
        <PlayerField label="Black" value={black.value} onChange={(spec) => (black.value = spec)} withHuman />
        <PlayerField label="White" value={white.value} onChange={(spec) => (white.value = spec)} withHuman />
        <div class="fields">
          <Select
            label="Board"
            value={String(size.value)}
            options={sizes.map((n) => [String(n), `${n}×${n}`])}
            onChange={(text) => (size.value = Number(text))}
          />
          <NumberField label="Komi" value={komi.value} min={-400} max={400} step={0.5} onChange={(n) => (komi.value = n)} />
          <NumberField label="Handicap" value={handicap.value} min={0} max={9} onChange={(n) => (handicap.value = n)} />
          <Field label="Engine's time" hint="60: a minute a game; 60+30/5: Canadian; 60+3x10: Japanese">
            {(id) => (
              <input
                id={id}
                type="text"
                autocomplete="off"
                placeholder="none, or 60+3x10"
                value={time.value}
                onInput={(event) => (time.value = event.currentTarget.value)}
              />
            )}
          </Field>
        </div>
        <p class="problem" role="alert">
          {problem}
        </p>
        <div class="row spread">
          <Button onClick={close}>Cancel</Button>
          <div class="row">
            <Button onClick={() => void send("seats")} disabled={isBusy.value}>
              Change players only
            </Button>
            <button type="submit" class="primary" disabled={isBusy.value}>
              Begin
            </button>
          </div>
        </div>
      </form>
    </dialog>
  );
}
