// A short tone, for the last seconds of a clock. Silent unless it is wanted.

import { kept } from "./kept";

export const isSoundOn = kept("sound", false, localStorage);

let context: AudioContext | null = null;

export function setSound(on: boolean): void {
  isSoundOn.value = on;
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
