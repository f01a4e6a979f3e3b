// Colours for numbers. Cividis rises steadily in lightness, so colour-blind people can read it, and so can a grey printer.

type Rgb = readonly [number, number, number];

const CIVIDIS: Rgb[] = [
  [0, 34, 78],
  [33, 60, 110],
  [75, 87, 108],
  [105, 113, 118],
  [134, 139, 120],
  [166, 157, 117],
  [200, 180, 103],
  [230, 205, 88],
  [254, 232, 56],
];

function mix(stops: Rgb[], share: number): Rgb {
  const x = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(x));
  const [a, b] = [stops[i]!, stops[i + 1]!];
  const t = x - i;
  return [0, 1, 2].map((k) => Math.round(a[k]! + (b[k]! - a[k]!) * t)) as unknown as Rgb;
}

const css = ([r, g, b]: Rgb): string => `rgb(${r},${g},${b})`;

/** Black or white, whichever stands out against the colour. */
function inkOn([r, g, b]: Rgb): string {
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#111" : "#fff";
}

export interface Paint {
  fill: string;
  ink: string;
}

/** share: 0 to 1 */
export function sequential(share: number): Paint {
  const rgb = mix(CIVIDIS, share);
  return { fill: css(rgb), ink: inkOn(rgb) };
}

/** Lines that differ in lightness; the first three differ in their dashes, too. */
export const LINE_CLASSES = ["line-1", "line-2", "line-3", "line-4"];
