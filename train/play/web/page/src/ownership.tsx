// Who will own which point of the position shown.

import type { JSX } from "preact";
import { game, ownership, showOwnership, wantsOwnership } from "./server";

/** Who will own each point, if that is wanted and known of the position shown. */
export function shownOwners(): number[] | undefined {
  const known = ownership.value;
  return known && known.at === game.value?.at && known.ownership.length === game.value.size ? known.ownership.flat() : undefined;
}

export const scoreText = (score: number): string => (score === 0 ? "even" : `${score > 0 ? "Black" : "White"} +${Math.abs(score).toFixed(1)}`);

export function OwnershipSwitch(): JSX.Element {
  const known = shownOwners() && ownership.value;
  return (
    <label class="check" title="Shading: who will own each point: by playouts, during a search after its best lines, or by its network. Key: e">
      <input type="checkbox" checked={wantsOwnership.value} onChange={(event) => showOwnership(event.currentTarget.checked)} />
      Ownership {known && <span class="muted">{known.source === "network" ? "by the network" : "mean of playouts"}{known.score !== null && `; ${scoreText(known.score)}`}</span>}
    </label>
  );
}
