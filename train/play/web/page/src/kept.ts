// Signals that outlive a reload: a tab's own, or, in localStorage, those that all tabs share.

import { effect, signal, type Signal } from "@preact/signals";

export function kept<T>(key: string, initial: T, storage = sessionStorage): Signal<T> {
  const parse = (text: string | null): T => {
    try {
      return text === null ? initial : (JSON.parse(text) as T);
    } catch {
      return initial; // of an earlier version
    }
  };
  const value = signal(parse(storage.getItem(key)));
  effect(() => storage.setItem(key, JSON.stringify(value.value)));
  addEventListener("storage", (event) => {
    if (event.storageArea === storage && event.key === key && event.newValue) value.value = parse(event.newValue);
  });
  return value;
}
