// A short tone, for the last seconds of a clock. Silent unless it is wanted.

import { signal } from "@preact/signals";

const KEY = "rlgo-sound";
export const isSoundOn = signal(localStorage.getItem(KEY) === "on");

let context: AudioContext | null = null;

export function setSound(on: boolean): void {
  isSoundOn.value = on;
  localStorage.setItem(KEY, on ? "on" : "off");
  if (on) beep();
}

export function beep(): void {
  if (!isSoundOn.value) return;
  context ??= new AudioContext();
  const [tone, volume] = [context.createOscillator(), context.createGain()];
  tone.frequency.value = 880;
  volume.gain.setValueAtTime(0.12, context.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.001, context.currentTime + 0.12);
  tone.connect(volume).connect(context.destination);
  tone.start();
  tone.stop(context.currentTime + 0.13);
}
