// Play: the game, whoever plays it.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import { Chart } from "./chart";
import { Button, Fact, Icon, perCent } from "./controls";
import { BoardBar, GameBoard } from "./gameboard";
import { capital, fromVertex, NO_POINT } from "./go";
import { Info } from "./info";
import { Navigation } from "./navigation";
import { showError } from "./notices";
import { NewGame, openNewGame } from "./newgame";
import { scoreText } from "./ownership";
import { Seat, seatText } from "./seat";
import { doing, game, hello } from "./server";
import * as table from "./table";
import type { Score, Stones } from "./types";
import { Variations } from "./variations";
import { show } from "./views";

export function PlayView(): JSX.Element {
  const now = game.value;
  return (
    <div class="view board-first">
      <GameBoard />
      <div class="stack">
        <section class="card" aria-label="Players">
          <Seat color="black" />
          <Seat color="white" />
          <div class="row spread">
            <p class="result" role="status">
              {now?.is_over && now.at === now.moves.length ? capital(table.describeResult(table.result.value)) : statusText()}
            </p>
            <Button onClick={openNewGame} shortcut="n" primary>
              New game
            </Button>
          </div>
          {doing.value.game === "preparing" && <p class="muted">The engine is being prepared; the first time can take a minute …</p>}
        </section>
        <section class="card" aria-label="Moves">
          <Navigation />
          <Variations />
          <div class="row buttons">
            <Button onClick={table.pass} shortcut="p" disabled={!table.isHumanTurn.value}>
              Pass
            </Button>
            <Button onClick={table.undo} shortcut="u" disabled={!now?.moves.length}>
              Undo
            </Button>
            <Button onClick={table.resign} shortcut="r" disabled={!table.isHumanTurn.value}>
              Resign
            </Button>
            <Button onClick={() => void table.askScore()} shortcut="s">
              Score
            </Button>
            <Button onClick={table.letEngineMove} shortcut="g" disabled={now?.is_over ?? true}>
              Engine move
            </Button>
            <Button onClick={table.togglePause} shortcut="Space" pressed={now?.paused ?? false}>
              {now?.paused ? "Paused" : "Pause"}
            </Button>
          </div>
          <BoardBar>
            <MoveField />
          </BoardBar>
        </section>
        <ScoreCard />
        <section class="card" aria-label="Game">
          <div class="row buttons even">
            <OpenButton />
            <Button onClick={table.saveSgf} shortcut="w">
              Save SGF
            </Button>
            <Button onClick={() => show("review")}>Review</Button>
          </div>
          {hello.value?.has_sgf && <ServerRecords />}
          <p class="muted">
            {now && `${now.size}×${now.size}, komi ${now.komi}${placedText(now.setup)}. `}
            Drop an SGF file anywhere to open it.
          </p>
        </section>
        <Chances />
        <Info />
      </div>
      <NewGame />
    </div>
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
  if (doing.value.game === "searching") return `${capital(now.to_play)} is thinking …`;
  if (now.at < now.moves.length) return `After move ${now.at} of ${now.moves.length}`;
  return `${capital(now.to_play)} to play${now.paused ? " (paused)" : ""}`;
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
      return;
    }
    text.value = ""; // at once: the next move may be written before this one is played
    const isPlayed = await table.playMove(move.toLowerCase() === "pass" ? "pass" : move.toUpperCase());
    if (!isPlayed && !text.value) text.value = move;
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

/** A finished game has a result; any other position a score, as if the game ended there. */
function ScoreCard(): JSX.Element | null {
  const score = table.score.value;
  const now = game.value;
  if (!now || (!score && !table.isDeciding.value)) return null;
  const isFinal = now.is_over && now.at === now.moves.length;
  const heading = isFinal && score ? `Result: ${table.describeResult(table.result.value)}` : isFinal ? "Result" : "If the game ended here";
  return (
    <section class="card" aria-label="Score" aria-busy={table.isDeciding.value}>
      <div class="row spread">
        <h2>{heading}</h2>
        <Button onClick={table.forgetScore} label="Hide the score">
          <Icon name="close" />
        </Button>
      </div>
      {table.isDeciding.value && <p class="muted">A search decides what is alive. This can take some seconds.</p>}
      {score && <ScoreFacts score={score} komi={now.komi} isFinal={isFinal} />}
    </section>
  );
}

function ScoreFacts({ score, komi, isFinal }: { score: Score; komi: number; isFinal: boolean }): JSX.Element {
  const seki = score.seki.flat().length;
  const open = score.unfinished.length;
  return (
    <>
      <dl class="numbers">
        {!isFinal && <Fact name="Score" value={scoreText(score.score)} hint="komi included" />}
        <Fact name="Black’s area" value={String(score.area.black)} hint="stones that live, and points that they surround" />
        <Fact name="White’s area" value={String(score.area.white)} />
        <Fact name="Komi" value={String(komi)} />
        <Fact name="Dead stones" value={String(score.dead.flat().length)} />
        {seki > 0 && <Fact name="Stones in seki" value={String(seki)} />}
        {open > 0 && <Fact name="Unfinished points" value={String(open)} hint="they go to whoever moves first" />}
      </dl>
      {open > 0 && <p>Unfinished: {open === 1 ? "1 point goes" : `${open} points go`} to whoever moves first.</p>}
      <p class="muted">The shading shows who owns a point. Crossed stones count as dead: a search decides that. Click a stone to change it.</p>
    </>
  );
}

/** A curve for each engine: two of them in one would only zigzag. */
function Chances(): JSX.Element | null {
  const seats = game.value?.seats;
  const lines = (["black", "white"] as const).map((color) => ({
    name: `${seats?.[color] && seats[color] !== "human" ? seatText(seats[color]) : "engine"}, ${capital(color)}`,
    points: [...table.chances.value[color]].sort(([a], [b]) => a - b) as [number, number][],
  }));
  const known = lines.filter(({ points }) => points.length > 1);
  if (!known.length) return null;
  return (
    <section class="card" aria-label="Chances">
      <h2>Black’s chance, as {known.length > 1 ? "each engine sees" : "the engine sees"} it</h2>
      <Chart
        label="Black’s chance by move"
        lines={known}
        xLabel="moves"
        height={150}
        range={[0, 1]}
        format={perCent}
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
