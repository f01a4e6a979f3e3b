// Which view is shown: the part of the address after #.

import { signal } from "@preact/signals";
import { leave } from "./notices";

export const VIEWS = ["play", "review", "watch", "probe", "compare", "runs"] as const;
export type View = (typeof VIEWS)[number];

const fromAddress = (): View => VIEWS.find((view) => location.hash === `#${view}`) ?? "play";

export const view = signal<View>(fromAddress());

addEventListener("hashchange", () => {
  view.value = fromAddress();
  leave(["error", "info"]);
  scrollTo(0, 0); // a phone would stay where the last view was left
});

export const isShown = (name: View): boolean => view.value === name;

export function show(name: View): void {
  location.hash = name;
}
