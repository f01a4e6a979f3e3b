// The page's frame: head, the view shown, and what is said on top of it.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import { CompareView } from "./compare";
import { Button, Icon } from "./controls";
import { capital } from "./go";
import { KeysButton, KeysDialog } from "./keys";
import { dismiss, spoken, toasts } from "./notices";
import { PlayView } from "./play";
import { ProbeView } from "./probe";
import { ReviewView } from "./review";
import { RunsView } from "./runs";
import { hello, isConnected } from "./server";
import { ask, choices, openSgf } from "./table";
import { nextTheme, theme } from "./theme";
import { view, VIEWS, type View } from "./views";
import { WatchView } from "./watch";

const CONTENT: Record<View, () => JSX.Element> = {
  play: PlayView,
  review: ReviewView,
  watch: WatchView,
  probe: ProbeView,
  compare: CompareView,
  runs: RunsView,
};

const THEME_SIGNS = { system: "◐", light: "○", dark: "●" };

const isDropping = signal(false);

export function App(): JSX.Element {
  const Content = CONTENT[view.value];
  useEffect(() => {
    document.title = `${capital(view.value)} · rlgo`;
  }, [view.value]);
  useEffect(acceptDrops, []);
  return (
    <>
      <Head />
      <main id="main" tabIndex={-1} aria-label={capital(view.value)}>
        <h1 class="hidden">{capital(view.value)}</h1>
        <Content />
      </main>
      <KeysDialog />
      <GamesDialog />
      <div class="hidden" role="status" aria-live="polite" id="live">
        {spoken.value}
      </div>
      <div class="toasts" role="alert">
        {toasts.value.map(({ id, text, kind }) => (
          <div key={id} class={`toast ${kind}`}>
            <span>{text}</span>
            <Button onClick={() => dismiss(id)} label="Close the message">
              <Icon name="close" />
            </Button>
          </div>
        ))}
      </div>
      {isDropping.value && <div class="drop">Drop the SGF file to open it</div>}
    </>
  );
}

/** Which game of a file of several? */
function GamesDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const known = choices.value;
  useEffect(() => (known ? dialog.current?.showModal() : dialog.current?.close()), [known]);
  return (
    <dialog ref={dialog} aria-labelledby="games-title" onClose={() => (choices.value = null)}>
      <div class="stack">
        <h2 id="games-title">This file has {known?.games.length} games</h2>
        {known?.games.map(([black, white, ...others], game) => (
          <Button key={game} onClick={() => void ask("load", { ...known.fields, game })}>
            {game + 1}: {[`${black || "Black"} – ${white || "White"}`, ...others].filter(Boolean).join(", ")}
          </Button>
        ))}
        <Button onClick={() => (choices.value = null)}>Cancel</Button>
      </div>
    </dialog>
  );
}

/** The part of the address after # is the view: it stays. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Head(): JSX.Element {
  const status = isConnected.value ? "connected" : hello.value ? "reconnecting …" : "connecting …";
  return (
    <header class="head">
      <a class="skip" href="#main" onClick={skip}>
        Skip to content
      </a>
      <div class="brand" title={hello.value ? `rlgo ${hello.value.version}` : undefined}>
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path class="mark-lines" d="M8 0V24M16 0V24M0 8H24M0 16H24" />
          <circle class="mark-black" cx="8" cy="16" r="5.6" />
          <circle class="mark-white" cx="16" cy="8" r="5.3" />
        </svg>
        rlgo
      </div>
      <nav aria-label="Views">
        {VIEWS.map((name) => (
          <a key={name} href={`#${name}`} aria-current={name === view.value ? "page" : undefined}>
            {capital(name)}
          </a>
        ))}
      </nav>
      <div class="end">
        <span class={isConnected.value ? "status" : "status lost"} role="status">
          {status}
        </span>
        <KeysButton />
        <Button onClick={nextTheme} label={`Colours: ${theme.value}`} shortcut="t">
          {THEME_SIGNS[theme.value]}
        </Button>
      </div>
    </header>
  );
}

/** An SGF file may be dropped anywhere. */
function acceptDrops(): () => void {
  const control = new AbortController();
  const { signal } = control;
  const hasFile = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  const over = (event: DragEvent): void => {
    if (!hasFile(event)) return;
    event.preventDefault();
    isDropping.value = true;
  };
  addEventListener("dragover", over, { signal });
  addEventListener("dragleave", (event) => event.relatedTarget === null && (isDropping.value = false), { signal });
  addEventListener(
    "drop",
    (event) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      isDropping.value = false;
      const file = event.dataTransfer?.files[0];
      if (file) void openSgf(file);
    },
    { signal },
  );
  return () => control.abort();
}
