/** Parses server-sent events (HTML Standard, 9.2.6). */

import { UnexpectedAnswer } from "./errors.js";

/** The most characters of one event. */
const LONGEST = 4_000_000;

/** One server-sent event. */
export interface Message {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** Makes events of chunks of bytes. */
export class EventParser {
  /** The pause before a new connection in milliseconds, if the gateway sent it. */
  retry: number | undefined;
  readonly #decoder = new TextDecoder();
  #rest = "";
  #size = 0;
  #fields = new Map<string, string>();

  /** The events that are complete with this chunk. */
  feed(chunk: Uint8Array): Message[] {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    const found: Message[] = [];
    for (const line of lines) this.#take(line.endsWith("\r") ? line.slice(0, -1) : line, found);
    if (this.#rest.length + this.#size > LONGEST) throw new UnexpectedAnswer("an event of the stream is too large");
    return found;
  }

  #take(line: string, found: Message[]): void {
    if (line === "") {
      const data = this.#fields.get("data");
      if (data !== undefined) found.push({ event: this.#fields.get("event") ?? "message", data, id: this.#fields.get("id") });
      this.#fields.clear();
      this.#size = 0;
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "retry" && /^\d{1,9}$/.test(value)) this.retry = Number(value);
    const former = name === "data" ? this.#fields.get("data") : undefined;
    this.#fields.set(name, former === undefined ? value : `${former}\n${value}`);
    this.#size += line.length;
  }
}
