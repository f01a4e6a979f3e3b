// Players: which there are, their settings, and a field to choose one.

import { signal } from "@preact/signals";
import { useId, useState } from "preact/hooks";
import type { JSX } from "preact";
import { Field, isNarrow, Select } from "./controls";
import { showError } from "./notices";
import { get } from "./server";
import type { PlayerInfo, PlayerKey, WeightFile } from "./types";

export const players = signal<PlayerInfo[]>([]);
export const weightFiles = signal<WeightFile[]>([]);

export async function loadPlayers(): Promise<void> {
  try {
    players.value = (await get<{ players: PlayerInfo[] }>("/api/players")).players;
    weightFiles.value = (await get<{ weights: WeightFile[] }>("/api/weights")).weights;
  } catch (error) {
    showError(error);
  }
}

/** A spec such as "mc_rave,sims=1000", taken apart. */
export interface Spec {
  name: string;
  settings: [key: string, value: string][];
}

const COMMA = /,(?=(?:[^"]*"[^"]*")*[^"]*$)/; // not within double quotes

export function parseSpec(text: string): Spec {
  const [name = "", ...rest] = text.split(COMMA);
  const settings = rest.filter(Boolean).map((part): [string, string] => {
    const [key = "", ...value] = part.split("=");
    return [key.trim(), value.join("=").trim()];
  });
  return { name: name.trim(), settings };
}

export const formatSpec = ({ name, settings }: Spec): string => [name, ...settings.map(([key, value]) => `${key}=${value}`)].join(",");

const isKey = (key: PlayerKey, name: string): boolean => key.name === name || key.aliases.includes(name);

/** The value that a spec gives to a key, or the key's default. */
export const settingOf = (spec: Spec, key: PlayerKey): string => spec.settings.find(([name]) => isKey(key, name))?.[1] ?? key.default;

/** The spec with another value for a key; the default is left out. */
export function withSetting(spec: Spec, key: PlayerKey, value: string): Spec {
  const settings = spec.settings.filter(([name]) => !isKey(key, name));
  if (value !== key.default) settings.push([key.name, value]);
  return { ...spec, settings };
}

const LIMITS = ["simulations", "seconds", "depth", "strength"];

/** The spec at a level of strength, which decides its limits and more; or without a level. */
export function withStrength(spec: Spec, keys: readonly PlayerKey[], level: string): Spec {
  const decided = keys.filter((key) => LIMITS.includes(key.name) || (level && key.name !== "seed"));
  const settings = spec.settings.filter(([name]) => !decided.some((key) => isKey(key, name)));
  return { ...spec, settings: level ? [["strength", level], ...settings] : settings };
}

/** The spec with a limit of seconds in place of its default limits, unless it names a limit of its own. */
export function withSeconds(text: string, seconds: number): string {
  const spec = parseSpec(text);
  const keys = players.value.find((player) => player.name === spec.name)?.keys ?? [];
  const limits = keys.filter((key) => LIMITS.includes(key.name));
  const hasLimit = spec.settings.some(([name]) => limits.some((key) => isKey(key, name)));
  return hasLimit || !limits.some((key) => key.name === "seconds") ? text : `${text},seconds=${seconds}`;
}

export type Limit = "seconds" | "simulations";

/** The spec with one limit in place of all that it has; without it, if the player knows no such limit. */
export function withLimit(text: string, limit: Limit, amount: number): string {
  const spec = parseSpec(text);
  const keys = players.value.find((player) => player.name === spec.name)?.keys ?? [];
  if (!keys.some((key) => key.name === limit)) return text;
  const rest = withStrength(spec, keys, "");
  return formatSpec({ ...rest, settings: [...rest.settings, [limit, String(amount)]] });
}

/** The paper's letter if there is one, for labels. */
export function shortName(key: PlayerKey): string {
  return [key.name, ...key.aliases].reduce((a, b) => (b.length < a.length ? b : a));
}

interface PlayerFieldProps {
  label: string;
  value: string;
  onChange: (spec: string) => void;
}

/** A menu of players, and a line for settings. */
export function PlayerField({ label, value, onChange }: PlayerFieldProps): JSX.Element {
  const { name } = parseSpec(value);
  const names = players.value.map((player) => player.name);
  const known = names.includes(name) ? names : [...names, name];
  return (
    <div class="player-field">
      <Select label={label} value={name} options={known.map((other) => [other, other])} onChange={onChange} />
      <SettingsField label={label} value={value} onChange={onChange} title="Settings" />
    </div>
  );
}

/** The settings of a player as in a spec. */
export function SettingsField({ label, value, onChange, title }: PlayerFieldProps & { title?: string }): JSX.Element {
  const spec = parseSpec(value);
  const [draft, setDraft] = useState<string | null>(null); // what is being written: drawing anew must not undo it
  const name = `Settings of ${label}`;
  return (
    <Field label={title ?? name} hint="such as sims=2000,resign=0.1; rlgo players NAME lists them all">
      {(id) => (
        <input
          id={id}
          type="text"
          aria-label={name}
          autocomplete="off"
          spellcheck={false}
          disabled={spec.name === "human"}
          placeholder={spec.name === "human" ? "" : "sims=2000"}
          value={draft ?? formatSpec({ name: "", settings: spec.settings }).slice(1)}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onChange={(event) => {
            setDraft(null);
            onChange(formatSpec(parseSpec(`${spec.name},${event.currentTarget.value}`)));
          }}
        />
      )}
    </Field>
  );
}

/** The options of a menu of strengths. */
export function levels({ low, high }: { low: number; high: number }): [string, string][] {
  const note = (level: number): string => (level === low ? ", a beginner" : level === high ? ", the strongest" : "");
  return Array.from({ length: high - low + 1 }, (_, i) => [String(low + i), `${low + i}${note(low + i)}`]);
}

const STEPS = 200; // positions of a slider

interface SettingsProps {
  value: string;
  onChange: (spec: string) => void;
}

/** A slider, menu or switch for each setting that suits one. */
export function SettingSliders({ value, onChange }: SettingsProps): JSX.Element {
  const spec = parseSpec(value);
  const keys = players.value.find((player) => player.name === spec.name)?.keys ?? [];
  // The view has its own field for seconds, which a strength would stand in place of.
  const sliders = keys.filter((key) => key.range && key.name !== "seconds" && key.name !== "strength");
  const menus = keys.filter((key) => !key.range && (key.kind === "switch" || (key.kind === "choice" && key.choices.length > 1)));
  const set = (key: PlayerKey, text: string): void => onChange(formatSpec(withSetting(spec, key, text)));
  const isTimed = withSeconds(value, 1) !== value; // the view's seconds stand in place of a limit by default
  const shown = (key: PlayerKey): string => (isTimed && LIMITS.includes(key.name) ? "" : settingOf(spec, key));
  return (
    <>
      <details open={!isNarrow.matches}>
        <summary>Settings</summary>
        <div class="settings">
          {sliders.map((key) => (
            <Slider key={key.name} setting={key} value={shown(key)} onChange={(text) => set(key, text)} />
          ))}
          {sliders.length === 0 && <p class="muted">This player has no sliders.</p>}
        </div>
      </details>
      {menus.length > 0 && (
        <details>
          <summary>More settings</summary>
          <div class="settings">
            {menus.map((key) => (
              <Select
                key={key.name}
                label={shortName(key)}
                value={settingOf(spec, key)}
                options={(key.kind === "switch" ? ["on", "off"] : key.choices).map((choice) => [choice, choice])}
                onChange={(text) => set(key, text)}
              />
            ))}
          </div>
        </details>
      )}
    </>
  );
}

function Slider({ setting, value, onChange }: { setting: PlayerKey; value: string; onChange: (text: string) => void }): JSX.Element {
  const id = useId();
  const [dragged, setDragged] = useState<string | null>(null); // until the slider is let go
  const { low, high, scale } = setting.range!;
  const number = Number(value.replaceAll("_", ""));
  const share = (n: number): number => (scale === "log" ? Math.log(n / low) / Math.log(high / low) : (n - low) / (high - low));
  const at = (position: number): number => {
    const s = position / STEPS;
    return scale === "log" ? low * (high / low) ** s : low + (high - low) * s;
  };
  const text = (n: number): string => String(setting.kind === "integer" ? Math.round(n) : Number(n.toPrecision(2)));
  const position = Number.isFinite(number) && value !== "" ? Math.round(share(Math.min(high, Math.max(low, number))) * STEPS) : STEPS;
  return (
    <div class="slider" title={setting.meaning}>
      <label for={id}>{shortName(setting)}</label>
      <output for={id}>{dragged ?? (value.replaceAll("_", "") || "–")}</output>
      <input
        id={id}
        type="range"
        min={0}
        max={STEPS}
        value={position}
        aria-valuetext={dragged ?? value}
        onInput={(event) => setDragged(text(at(event.currentTarget.valueAsNumber)))}
        onChange={(event) => {
          setDragged(null);
          onChange(text(at(event.currentTarget.valueAsNumber)));
        }}
      />
    </div>
  );
}
