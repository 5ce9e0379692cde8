/** The event stream of the gateway (server-sent events). `EventSource` cannot send a token, so the stream is read here. */

import { EventParser, type Message, withQuery } from "@domogate/client/core";
import { signal, type Signal } from "@preact/signals";
import { accessToken, renew } from "./session";

export const EVENT_KINDS = ["state", "reachability", "safety", "plant", "people"] as const;

/** A CloudEvent about a module or a plant: see docs/events.md. */
export interface LiveEvent {
  /** A kind of change, `present`, or an event about the stream: `ready` or `reset`. */
  readonly event: string;
  readonly data: { readonly data?: unknown; readonly subject?: string; readonly time?: string; readonly [name: string]: unknown };
}

/** Whether the page shows the present state. If not: since when it does not. */
export interface Liveness {
  readonly live: boolean;
  readonly since: Date;
}

type Query = Readonly<Record<string, string | readonly string[]>>;

export interface LiveStream {
  readonly liveness: Signal<Liveness>;
  close(): void;
}

const SILENCE = 40_000; // The gateway sends a heartbeat every 15 s.
const SHORTEST_PAUSE = 500;
const LONGEST_PAUSE = 20_000;

/** Listen until `close` is called. After a loss of the connection it connects again and gets the events that it missed. */
export function listen(query: Query, onEvent: (event: LiveEvent) => void, path = "/events"): LiveStream {
  const liveness = signal<Liveness>({ live: false, since: new Date() });
  const closing = new AbortController();
  void run(withQuery(path, query), onEvent, liveness, closing.signal);
  return { liveness, close: () => closing.abort() };
}

function setLive(liveness: Signal<Liveness>, live: boolean, since: Date = new Date()): void {
  if (liveness.value.live !== live) liveness.value = { live, since };
}

async function run(
  address: string,
  onEvent: (event: LiveEvent) => void,
  liveness: Signal<Liveness>,
  closed: AbortSignal,
): Promise<void> {
  let lastId = "";
  let heard = new Date();
  let pause = SHORTEST_PAUSE;
  while (!closed.aborted) {
    const connection = new AbortController();
    const stop = (): void => connection.abort();
    closed.addEventListener("abort", stop, { once: true });
    addEventListener("offline", stop, { once: true });
    try {
      for await (const { id, event, data } of read(address, lastId, connection, () => (heard = new Date()))) {
        if (id) lastId = id;
        if (event === "end") break;
        setLive(liveness, true);
        pause = SHORTEST_PAUSE;
        onEvent({ event, data: JSON.parse(data) as LiveEvent["data"] });
      }
    } catch {
      // The connection was lost or refused: it is tried again below.
    } finally {
      stop();
      closed.removeEventListener("abort", stop);
      removeEventListener("offline", stop);
    }
    if (closed.aborted) return;
    setLive(liveness, false, heard);
    await wait(pause * (0.5 + Math.random()), closed);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

async function* read(url: string, lastId: string, connection: AbortController, onPiece: () => void): AsyncGenerator<Message> {
  const headers: Record<string, string> = { authorization: `Bearer ${await accessToken()}`, accept: "text/event-stream" };
  if (lastId) headers["last-event-id"] = lastId;
  let watch = setTimeout(() => connection.abort(), SILENCE);
  try {
    const response = await fetch(url, { headers, signal: connection.signal, cache: "no-store" });
    if (response.status === 401) await renew();
    if (!response.ok || !response.body) return;
    // Not `for await`: not every browser can iterate a stream.
    const reader = response.body.getReader();
    const parser = new EventParser();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onPiece();
      clearTimeout(watch);
      watch = setTimeout(() => connection.abort(), SILENCE);
      yield* parser.feed(value);
    }
  } finally {
    clearTimeout(watch);
  }
}

/** Wait, but not longer than until the network is back or the page is shown again. */
function wait(milliseconds: number, closed: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      removeEventListener("online", done);
      document.removeEventListener("visibilitychange", done);
      closed.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener("online", done);
    document.addEventListener("visibilitychange", done);
    closed.addEventListener("abort", done);
  });
}
