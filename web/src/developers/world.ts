/** What the requests that cause errors need: homes and modules of the person, keys, tokens, faults on demand. */

import { ApiError, api } from "../app/api";
import { language } from "../app/i18n";
import { findLogin, revoke } from "../app/oauth";
import { accessToken } from "../app/session";
import { roomsOf, type Home, type Module } from "../homes/model";
import { KEY_HEADER, makeCall, send, subscriptionKey, type Call } from "./call";
import { listHomes, readHome } from "./lists";

/** A request. It is sent `times` at once, and the last answer that is an error is shown. `after` tidies up. */
export interface Prepared extends Call {
  readonly times?: number;
  readonly after?: () => Promise<unknown>;
}

export interface Where {
  readonly home: string;
  readonly module: string;
}

interface More {
  readonly key?: string;
  readonly token?: string;
  readonly accept?: string;
  readonly idempotency?: string;
}

/** Nothing of the person fits. The text is `developers.errors.missing`. */
export class Missing extends Error {}

/** The homes of the demo estate. Each demo user may use only some of them. */
export const DEMO_HOMES = ["ca5a0001-0000-4000-8000-000000000000", "407e0001-0000-4000-8000-000000000000", "405b0001-0000-4000-8000-000000000000"] as const;

const DEVELOPER = "/developer/v1";

export class World {
  #narrow = "";
  #key = "";

  private constructor(
    private readonly token: string,
    private readonly homes: readonly Home[],
  ) {}

  static async load(): Promise<World> {
    const summaries = await listHomes();
    return new World(await accessToken(), await Promise.all(summaries.map(({ id }) => readHome(id))));
  }

  get(path: string, more: More = {}): Call {
    return makeCall(path, this.headers(more));
  }

  post(path: string, body: unknown, more: More = {}): Call {
    return makeCall(path, this.headers(more), body);
  }

  private headers({ key = subscriptionKey.value, token = this.token, accept, idempotency }: More): Record<string, string> {
    return {
      ...(key ? { [KEY_HEADER]: key } : {}),
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(accept ? { Accept: accept } : {}),
      ...(idempotency ? { "Idempotency-Key": idempotency } : {}),
    };
  }

  /** Send a request that must succeed before the one that fails. */
  async sendFirst<T>(call: Call): Promise<T> {
    const { status, body } = await send(call);
    if (status >= 400) throw new ApiError(status, { text: "text" in body ? body.text : "" });
    return ("text" in body && body.text ? JSON.parse(body.text) : undefined) as T;
  }

  async findHome(fits: (home: Home) => boolean = () => true): Promise<Home> {
    const found = this.homes.find(fits);
    if (!found) throw new Missing();
    return found;
  }

  /** A simulated module that can be reached, or a scene, in a home that the person owns. */
  async findModule(kind: string, fits: (module: Module) => boolean = () => true): Promise<Where> {
    for (const { id, role, modules } of this.homes) {
      const found = role === "owner" && modules.find((one) => one.kind === kind && one.reachable && (one.simulated || kind === "scene") && fits(one));
      if (found) return { home: id, module: found.id };
    }
    throw new Missing();
  }

  async findRoomWithoutPlug(): Promise<[string, string]> {
    for (const home of this.homes) {
      const withPlug = new Set(home.modules.filter(({ kind }) => kind === "plug").map(({ roomId }) => roomId));
      const room = roomsOf(home).find((one) => !withPlug.has(one.id));
      if (room) return [home.id, room.id];
    }
    throw new Missing();
  }

  async findForeignHome(): Promise<string> {
    const own = new Set(this.homes.map(({ id }) => id));
    const found = DEMO_HOMES.find((id) => !own.has(id));
    if (!found) throw new Missing();
    return found;
  }

  inject({ home, module }: Where, fault: string): Promise<unknown> {
    return api.post(`${DEVELOPER}/homes/${home}/modules/${module}/faults`, { fault, seconds: 30 });
  }

  clear({ home, module }: Where): Promise<void> {
    return api.delete(`${DEVELOPER}/homes/${home}/modules/${module}/faults`);
  }

  /** An own token of the person that has no scope for homes. */
  async narrowToken(): Promise<string> {
    const found = await findLogin(language.value, "openid");
    if (!found) throw new Missing();
    this.#narrow = found.refresh_token ?? found.access_token;
    return found.access_token;
  }

  /** A new key with the rate of self-service. `close` revokes it. */
  async limitedKey(): Promise<More> {
    const made = await api.post<{ key: string; subscription: { id: string } }>(`${DEVELOPER}/keys`, { name: "429" });
    this.#key = made.subscription.id;
    return { key: made.key };
  }

  async dropKey(): Promise<void> {
    if (this.#key) await api.delete(`${DEVELOPER}/keys/${this.#key}`);
    this.#key = "";
  }

  async openReceiver(): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
    const { id, url } = await api.post<{ id: string; url: string }>(`${DEVELOPER}/receivers`);
    return { url, close: () => api.delete(`${DEVELOPER}/receivers/${id}`) };
  }

  /** End what is not needed after the answer. */
  close(): void {
    if (this.#narrow) revoke(this.#narrow);
  }
}
