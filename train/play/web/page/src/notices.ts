// What the page tells people: toasts for the eye, and a live region for screen readers.

import { signal } from "@preact/signals";

export interface Toast {
  id: number;
  text: string;
  kind: "error" | "info";
}

const TOAST_MS = { error: 8_000, info: 4_000 };

export const toasts = signal<Toast[]>([]);
export const spoken = signal("");

let count = 0;

export function toast(text: string, kind: Toast["kind"] = "info"): void {
  const id = ++count;
  toasts.value = [...toasts.value.filter((t) => t.text !== text), { id, text, kind }].slice(-3);
  setTimeout(() => dismiss(id), TOAST_MS[kind]);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((t) => t.id !== id);
}

/** What has been said is out of date: something else has gone well, or another view is shown. */
export function leave(kinds: Toast["kind"][]): void {
  toasts.value = toasts.value.filter(({ kind }) => !kinds.includes(kind));
}

export const showError = (error: unknown): void => toast(error instanceof Error ? error.message : String(error), "error");

/** Screen readers say it once they are done with what they are saying. */
export function say(text: string): void {
  spoken.value = text;
}
