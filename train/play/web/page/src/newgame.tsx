// The dialog for a new game: who plays, how well, on which board, in what time. The rest is behind Advanced.

import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import { Button, NumberField, Select } from "./controls";
import { capital, otherName, type ColorName } from "./go";
import { count, FINDS_YOURS, levelOf, search } from "./level";
import { formatSpec, levels, parseSpec, players, SettingsField, settingOf, withStrength } from "./players";
import { hello, request } from "./server";
import { isSoundOn, setSound } from "./sound";
import { mayLeave, setUnsaved } from "./table";

const dialogId = "new-game";
const HANDICAP_KOMI = 0.5;

export function openNewGame(): void {
  (document.getElementById(dialogId) as HTMLDialogElement | null)?.showModal();
}

const seats = signal<Record<ColorName, string>>({ black: "human", white: "" });
const finds = signal(false); // the level that is yours

const keysOf = (spec: string) => players.value.find((player) => player.name === parseSpec(spec).name)?.keys ?? [];
const strengthOf = (spec: string) => keysOf(spec).find((key) => key.name === "strength");

function seat(color: ColorName, spec: string): void {
  seats.value = { ...seats.value, [color]: spec };
  if (!strengthOf(spec) && strengthOf(seats.value[otherName(color)]) === undefined) finds.value = false;
}

/** A seat's spec, at the level that is looked for if it is. */
function specOf(color: ColorName): string {
  const spec = seats.value[color];
  const isIt = finds.value && strengthOf(spec) && seats.value[otherName(color)] === "human";
  return isIt ? formatSpec(withStrength(parseSpec(spec), keysOf(spec), String(levelOf(search.value)))) : spec;
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
        options={options.map((name) => [name, name === "rlgo" ? "rlgo, the strongest" : name])}
        onChange={(name) => seat(color, name)}
      />
      {strength?.range && (
        <Select
          label={`Level of ${capital(color)}`}
          value={finds.value && isAgainstHuman ? FINDS_YOURS : level}
          options={[
            ["", "as good as it can in the time"],
            ...(isAgainstHuman ? [[FINDS_YOURS, `finds yours: now ${levelOf(search.value)}`] as const] : []),
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
    <div class="fields">
      <Select
        label="Clock"
        value={time.kind}
        options={[
          ["none", "none"],
          ["absolute", "absolute"],
          ["byo-yomi", "byo-yomi"],
          ["canadian", "Canadian"],
        ]}
        onChange={(kind) => onChange({ ...time, kind: kind as Kind })}
      />
      {time.kind !== "none" && (
        <NumberField label="Minutes" value={time.minutes} min={0.5} max={600} step={0.5} onChange={(minutes) => onChange({ ...time, minutes })} />
      )}
      {hasOvertime && (
        <>
          <NumberField
            label={time.kind === "byo-yomi" ? "Periods" : "Stones"}
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

export function NewGame(): JSX.Element {
  const server = hello.value;
  const size = useSignal(server?.size ?? 9);
  const komi = useSignal(server?.komi ?? 7.5);
  const handicap = useSignal(0);
  const time = useSignal<Time>({ kind: "none", minutes: 10, seconds: 30, n: 3 });
  const isForHumans = useSignal(true);
  const problem = useSignal("");
  const isBusy = useSignal(false);
  useEffect(() => {
    if (!server || seats.value.white) return;
    [size.value, komi.value] = [server.size, server.komi];
    seat("white", server.player);
  }, [server]);
  const [smallest, largest] = server?.sizes ?? [5, 19];
  const sizes = Array.from({ length: largest - smallest + 1 }, (_, i) => smallest + i);
  const close = (): void => (document.getElementById(dialogId) as HTMLDialogElement).close();
  const send = async (type: "new" | "seats"): Promise<void> => {
    const chosen = { black: specOf("black"), white: specOf("white") };
    const clock = { time: timeText(time.value), timed: isForHumans.value ? "both" : "engines" };
    const rules = { size: size.value, komi: komi.value, handicap: handicap.value, ...clock };
    if (type === "new" && !mayLeave()) return;
    isBusy.value = true;
    try {
      await request(type, type === "new" ? { ...chosen, ...rules } : chosen);
      if (type === "new") setUnsaved(false);
      count(finds.value);
      problem.value = "";
      close();
    } catch (error) {
      problem.value = (error as Error).message;
    } finally {
      isBusy.value = false;
    }
  };
  const setHandicap = (n: number): void => {
    // Handicap stones are worth the komi: it follows, unless somebody has chosen another one.
    const usual = server?.komi ?? 7.5;
    if (komi.value === (handicap.value > 1 ? HANDICAP_KOMI : usual)) komi.value = n > 1 ? HANDICAP_KOMI : usual;
    handicap.value = n;
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
            value={String(size.value)}
            options={sizes.map((n) => [String(n), `${n}×${n}`])}
            onChange={(text) => (size.value = Number(text))}
          />
          <Select
            label="Handicap"
            value={String(handicap.value)}
            options={[0, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => [String(n), n ? `${n} stones` : "none"])}
            onChange={(text) => setHandicap(Number(text))}
          />
          <NumberField label="Komi" value={komi.value} min={-400} max={400} step={0.5} onChange={(n) => (komi.value = n)} />
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
