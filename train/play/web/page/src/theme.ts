// Light and dark: what the system prefers, until the reader chooses.

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const THEMES: Theme[] = ["system", "light", "dark"];

const stored = localStorage.getItem("theme") as Theme | null;
export const theme = signal<Theme>(stored && THEMES.includes(stored) ? stored : "system");

effect(() => {
  const root = document.documentElement;
  if (theme.value === "system") delete root.dataset.theme;
  else root.dataset.theme = theme.value;
  localStorage.setItem("theme", theme.value);
});

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!;
}
