/** A bounded cache of answers with an ETag. */

interface Entry {
  readonly etag: string;
  readonly body: Uint8Array;
}

/**
 * Keeps the newest answers by URL. The oldest are removed when the cache has more bytes or entries than allowed.
 *
 * An answer is used only if the gateway says that it has not changed (304). The ETag depends on the content, so an
 * answer is right for every user of the client.
 */
export class ETagCache {
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(
    readonly maxBytes = 4_000_000,
    readonly maxEntries = 256,
  ) {}

  find(url: string): Entry | undefined {
    const entry = this.#entries.get(url);
    if (entry) {
      // A map keeps the order of insertion, so the newest entry must be inserted again.
      this.#entries.delete(url);
      this.#entries.set(url, entry);
    }
    return entry;
  }

  keep(url: string, etag: string, body: Uint8Array): void {
    if (body.length > this.maxBytes) return;
    this.#remove(url);
    this.#entries.set(url, { etag, body });
    this.#bytes += body.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.maxBytes && this.#entries.size <= this.maxEntries) return;
      this.#remove(oldest);
    }
  }

  get size(): number {
    return this.#entries.size;
  }

  #remove(url: string): void {
    this.#bytes -= this.#entries.get(url)?.body.length ?? 0;
    this.#entries.delete(url);
  }
}
