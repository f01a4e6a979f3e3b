// Light and dark: what the system prefers, until the reader chooses.

import { effect } from "@preact/signals";
import { kept } from "./kept";

export type Theme = "system" | "light" | "dark";

const THEMES: Theme[] = ["system", "light", "dark"];

export const theme = kept<Theme>("theme", "system", localStorage);

effect(() => {
  const root = document.documentElement;
  if (theme.value === "system") delete root.dataset.theme;
  else root.dataset.theme = theme.value;
});

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!;
}
