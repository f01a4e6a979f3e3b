// The dialog for a new game: who plays, how well, on which board, in what time. The rest is behind Advanced.

import { effect, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { Button, NumberField, Select } from "./controls";
import { capital, otherName, type ColorName } from "./go";
import { kept } from "./kept";
import { counts, FINDS_YOURS, levelOf, search } from "./level";
import { formatSpec, levels, parseSpec, players, SettingsField, settingOf, withStrength } from "./players";
import { hello, request } from "./server";
import { isSoundOn, setSound } from "./sound";
import { mayLeave, setUnsaved } from "./table";

const dialogId = "new-game";
const HANDICAP_KOMI = 0.5;

export function openNewGame(): void {
  (document.getElementById(dialogId) as HTMLDialogElement | null)?.showModal();
}

const seats = kept<Record<ColorName, string>>("new-seats", { black: "human", white: "" });
const finds = kept("new-finds", true); // the level that is yours
const rules = kept("new-rules", { size: 9, komi: 7.5, handicap: 0 });
const time = kept<Time>("new-time", { kind: "none", minutes: 10, seconds: 30, n: 3 });
const isForHumans = kept("new-for-humans", true);

effect(() => {
  const server = hello.value;
  if (!server || seats.peek().white) return;
  rules.value = { size: server.size, komi: server.komi, handicap: 0 };
  seats.value = { ...seats.peek(), white: server.player };
  finds.value = !server.player.startsWith("rlgo,"); // which has a level or a limit
});

const keysOf = (spec: string) => players.value.find((player) => player.name === parseSpec(spec).name)?.keys ?? [];
const strengthOf = (spec: string) => keysOf(spec).find((key) => key.name === "strength");

function seat(color: ColorName, spec: string): void {
  seats.value = { ...seats.value, [color]: spec };
}

/** Whether a seat is at the level that is looked for. */
const isFinding = (color: ColorName): boolean =>
  finds.value && strengthOf(seats.value[color]) !== undefined && seats.value[otherName(color)] === "human";

function specOf(color: ColorName): string {
  const spec = seats.value[color];
  return isFinding(color) ? formatSpec(withStrength(parseSpec(spec), keysOf(spec), String(levelOf(search.value)))) : spec;
}

function SeatField({ color }: { color: ColorName }): JSX.Element {
  const value = seats.value[color];
  const spec = parseSpec(value);
  const names = players.value.map((player) => player.name);
  const known = spec.name === "human" || !spec.name || names.includes(spec.name) ? names : [spec.name, ...names];
  const strongest = known.filter((name) => name === "rlgo");
  const options = ["human", ...strongest, ...known.filter((name) => name !== "rlgo")];
  const strength = strengthOf(value);
  const isAgainstHuman = seats.value[otherName(color)] === "human";
  const level = strength ? settingOf(spec, strength) : "";
  return (
    <div class="fields two">
      <Select
        label={capital(color)}
        value={spec.name}
        options={options.map((name) => [name, name === "rlgo" ? "rlgo (strongest)" : name])}
        onChange={(name) => seat(color, name)}
      />
      {strength?.range && (
        <Select
          label={`Level of ${capital(color)}`}
          value={finds.value && isAgainstHuman ? FINDS_YOURS : level}
          options={[
            ...(isAgainstHuman ? [[FINDS_YOURS, `finds yours (${levelOf(search.value)})`] as const] : []),
            ["", "as good as it can in the time"],
            ...levels(strength.range),
          ]}
          onChange={(chosen) => {
            finds.value = chosen === FINDS_YOURS;
            seat(color, formatSpec(withStrength(spec, keysOf(value), finds.value ? "" : chosen)));
          }}
        />
      )}
    </div>
  );
}

type Kind = "none" | "absolute" | "byo-yomi" | "canadian";

interface Time {
  kind: Kind;
  minutes: number;
  seconds: number; // of a period
  n: number; // periods, or stones
}

/** As `rlgo play --time` takes it. */
function timeText({ kind, minutes, seconds, n }: Time): string | null {
  const main = String(Math.round(600 * minutes) / 10);
  if (kind === "none") return null;
  if (kind === "absolute") return main;
  return kind === "byo-yomi" ? `${main}+${n}x${seconds}` : `${main}+${seconds}/${n}`;
}

function TimeFields({ time, onChange }: { time: Time; onChange: (time: Time) => void }): JSX.Element {
  const hasOvertime = time.kind === "byo-yomi" || time.kind === "canadian";
  return (
    <div class="fields clock">
      <Select
        label="Clock"
        value={time.kind}
        options={[
          ["none", "no clock"],
          ["absolute", "fixed time"],
          ["byo-yomi", "time for each move (byo-yomi)"],
          ["canadian", "time for several moves (Canadian)"],
        ]}
        onChange={(kind) => onChange({ ...time, kind: kind as Kind })}
      />
      {time.kind !== "none" && (
        <NumberField label="Minutes" value={time.minutes} min={0.5} max={600} step={0.5} onChange={(minutes) => onChange({ ...time, minutes })} />
      )}
      {hasOvertime && (
        <>
          <NumberField
            label={time.kind === "byo-yomi" ? "Periods" : "Moves"}
            value={time.n}
            min={1}
            max={99}
            onChange={(n) => onChange({ ...time, n: Math.round(n) })}
          />
          <NumberField label="Seconds each" value={time.seconds} min={1} max={3600} onChange={(seconds) => onChange({ ...time, seconds })} />
        </>
      )}
    </div>
  );
}

/** The rules and the clock in a sentence each. */
function inWords(): string {
  const { komi, handicap } = rules.value;
  const { kind, minutes, seconds, n } = time.value;
  const worth = komi < 0 ? `Black gets ${-komi} points` : `White gets ${komi} points`;
  const start = handicap ? `Black has ${handicap} stones on the board, White plays first, and ${worth}.` : `Black plays first, and ${worth}.`;
  if (kind === "none") return start;
  const whole = `${isForHumans.value ? "Each side" : "Each engine"} has ${minutes} ${minutes === 1 ? "minute" : "minutes"}`;
  if (kind === "absolute") return `${start} ${whole} for all of its moves.`;
  const rest =
    kind === "byo-yomi"
      ? `and then ${n} ${n === 1 ? "period" : "periods"} of ${seconds} s: a move that takes longer uses them up`
      : `and then ${seconds} s for every ${n} moves`;
  return `${start} ${whole}, ${rest}.`;
}

/** What a request for a new game says. */
function wanted(): object {
  const { size, komi, handicap } = rules.value;
  const seats = { black: specOf("black"), white: specOf("white") };
  return { ...seats, size, komi, handicap, time: timeText(time.value), timed: isForHumans.value ? "both" : "engines" };
}

export function NewGame(): JSX.Element {
  const server = hello.value;
  const { size, komi, handicap } = rules.value;
  const problem = useSignal("");
  const isBusy = useSignal(false);
  const [smallest, largest] = server?.sizes ?? [5, 19];
  const sizes = Array.from({ length: largest - smallest + 1 }, (_, i) => smallest + i);
  const close = (): void => (document.getElementById(dialogId) as HTMLDialogElement).close();
  const send = async (type: "new" | "seats"): Promise<void> => {
    if (type === "new" && !mayLeave()) return;
    isBusy.value = true;
    let sent: object;
    try {
      do {
        sent = type === "new" ? wanted() : { black: specOf("black"), white: specOf("white") };
        await request(type, sent);
      } while (type === "new" && JSON.stringify(sent) !== JSON.stringify(wanted())); // changed while it was compiled
      counts.value = isFinding("black") || isFinding("white");
      if (type === "new") setUnsaved(false);
      problem.value = "";
      close();
      document.querySelector(".board")?.scrollIntoView({ block: "nearest" });
    } catch (error) {
      problem.value = (error as Error).message;
    } finally {
      isBusy.value = false;
    }
  };
  const setHandicap = (n: number): void => {
    // Handicap stones are worth the komi: it follows, unless somebody has chosen another one.
    const usual = server?.komi ?? 7.5;
    const isUsual = komi === (handicap ? HANDICAP_KOMI : usual);
    rules.value = { size, komi: isUsual ? (n ? HANDICAP_KOMI : usual) : komi, handicap: n };
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
        <SeatField color="black" />
        <SeatField color="white" />
        <div class="fields">
          <Select
            label="Board"
            value={String(size)}
            options={sizes.map((n) => [String(n), `${n}×${n}`])}
            onChange={(text) => (rules.value = { ...rules.value, size: Number(text) })}
          />
          <Select
            label="Handicap"
            value={String(handicap)}
            options={[0, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => [String(n), n ? `${n} stones` : "even game"])}
            onChange={(text) => setHandicap(Number(text))}
          />
          <NumberField label="Komi" value={komi} min={-400} max={400} step={0.5} onChange={(n) => (rules.value = { ...rules.value, komi: n })} />
        </div>
        <TimeFields time={time.value} onChange={(next) => (time.value = next)} />
        {time.value.kind !== "none" && (
          <div class="row">
            <label class="check">
              <input type="checkbox" checked={isForHumans.value} onChange={(event) => (isForHumans.value = event.currentTarget.checked)} />
              for humans, too
            </label>
            <label class="check">
              <input type="checkbox" checked={isSoundOn.value} onChange={(event) => setSound(event.currentTarget.checked)} />
              sound in the last seconds
            </label>
          </div>
        )}
        <p class="muted">{inWords()}</p>
        <details>
          <summary>Advanced</summary>
          <div class="stack advanced">
            <SettingsField label="Black" value={seats.value.black} onChange={(spec) => seat("black", spec)} />
            <SettingsField label="White" value={seats.value.white} onChange={(spec) => seat("white", spec)} />
          </div>
        </details>
        <p class="problem" role="alert">
          {problem}
        </p>
        {isBusy.value && <p role="status">The game is being set up. The first one on a board of this size can take a minute …</p>}
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
