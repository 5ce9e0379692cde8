/** One device of a home: what it reported, what the person just asked for, and how that ended. */

import { randomKey } from "@domogate/client/core";
import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { api, ApiError } from "../app/api";
import type { Command, CommandResult, Module, ModuleNotice, State } from "./model";

/** The newest command, if it has not ended. `state` is the state that the page shows until then. */
interface Pending {
  readonly state: State | null;
}

/** Why the last command did not work. */
export interface Failure {
  readonly outcome: Exclude<CommandResult["outcome"], "confirmed"> | "not sent";
  /** A sentence of the device or of the gateway; may be empty. */
  readonly detail: string;
  readonly seconds: number;
}

const LONGEST_COMMAND = 60_000;
const SCENE = "run scene";

export class Device {
  readonly id: string;
  readonly module: Signal<Module>;
  readonly failure = signal<Failure | null>(null);
  /** The state to show: the one that was asked for while a command is under way, otherwise the reported one. */
  readonly state: ReadonlySignal<State | null>;
  readonly isPending: ReadonlySignal<boolean>;
  readonly #pending = signal<Pending | null>(null);
  readonly #home: string;
  #commands = 0;

  constructor(home: string, module: Module) {
    this.#home = home;
    this.id = module.id;
    this.module = signal(module);
    this.state = computed(() => this.#pending.value?.state ?? this.module.value.state);
    this.isPending = computed(() => this.#pending.value !== null);
  }

  get picturePath(): string {
    return `${this.#path}/picture`;
  }

  get #path(): string {
    return `/home/v1/homes/${this.#home}/modules/${this.id}`;
  }

  /** Take over a newer answer of the API. Nothing is drawn again if nothing changed. */
  update(module: Module): void {
    if (JSON.stringify(module) !== JSON.stringify(this.module.value)) this.module.value = module;
  }

  /** Take over an event. An event of a device that answers also ends the message about a failure. */
  notice(notice: ModuleNotice, time: string): void {
    const before = this.module.value;
    const { reachable, absentSince, state } = notice;
    const why = before.unreachable?.why ?? "";
    const unreachable = reachable || !absentSince ? null : { why, since: absentSince };
    this.module.value = { ...before, reachable, unreachable, state, lastHeardAt: reachable ? time : before.lastHeardAt };
    if (reachable) this.failure.value = null;
  }

  /** Whether only the reason of the absence is missing: events do not carry it. */
  get lacksReason(): boolean {
    return this.module.peek().unreachable?.why === "";
  }

  /** Send a command and show `wanted` until its end. A second command does not wait for the first: then only the second one counts. */
  async send(command: Command, wanted: Partial<State> = {}): Promise<void> {
    const number = ++this.#commands;
    const shown = this.state.value;
    this.failure.value = null;
    this.#pending.value = { state: shown && ({ ...shown, ...wanted } as State) };
    const failure = await this.#perform(command, () => number === this.#commands);
    if (number !== this.#commands) return;
    this.failure.value = failure;
    this.#pending.value = null;
  }

  async #perform(command: Command, isNewest: () => boolean): Promise<Failure | null> {
    const began = performance.now();
    try {
      return command.do === SCENE ? await this.#run() : await this.#order(command, isNewest);
    } catch (error) {
      const detail = error instanceof ApiError ? error.words : String(error);
      return { outcome: "not sent", detail, seconds: (performance.now() - began) / 1000 };
    }
  }

  async #run(): Promise<null> {
    await api.post(`/home/v1/homes/${this.#home}/scenes/${this.id}/run`, undefined, { timeout: LONGEST_COMMAND });
    return null;
  }

  async #order(command: Command, isNewest: () => boolean): Promise<Failure | null> {
    const { outcome, detail, beganAt, endedAt, module } = await api.post<CommandResult>(`${this.#path}/commands`, command, {
      headers: { "idempotency-key": randomKey() },
      timeout: LONGEST_COMMAND,
    });
    if (isNewest()) this.update(module);
    if (outcome === "confirmed") return null;
    return { outcome, detail, seconds: (Date.parse(endedAt ?? beganAt) - Date.parse(beganAt)) / 1000 };
  }
}
