/** Whether the gateway can be reached. If not, it is tried every few seconds. */

import { signal } from "@preact/signals";

export const reachable = signal(true);
const PROBE_EVERY = 3_000;
const TIMEOUT = 15_000;

/** Call this after a request that got no answer. */
export function lose(): void {
  if (!reachable.value) return;
  reachable.value = false;
  setTimeout(() => void probe(), PROBE_EVERY);
}

export function untilReachable(): Promise<void> {
  return new Promise((resolve) => {
    const stop = reachable.subscribe((now) => {
      if (now) setTimeout(() => (stop(), resolve()));
    });
  });
}

async function probe(): Promise<void> {
  try {
    const { ok } = await fetch("/readyz", { signal: AbortSignal.timeout(TIMEOUT), cache: "no-store" });
    if (!ok) throw new Error("the gateway starts or stops");
    reachable.value = true;
  } catch {
    setTimeout(() => void probe(), PROBE_EVERY);
  }
}
