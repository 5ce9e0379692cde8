/** An open home: its rooms and devices, kept up to date by the event stream. */

import { computed, effect, signal, untracked, type ReadonlySignal } from "@preact/signals";
import { api, ApiError } from "../app/api";
import { listen, type LiveEvent, type Liveness, type LiveStream } from "../app/live";
import { Device } from "./device";
import type { Home, Module, ModuleNotice, Room } from "./model";

/** A room with its devices, or the devices without a room (`room` is null). */
export interface Place {
  readonly floor: string | null;
  readonly room: Room | null;
  readonly devices: readonly Device[];
}

interface Favourites {
  readonly modules: readonly string[];
}

const READ_AGAIN_AFTER = 1_000;
const READ_REASONS_AFTER = 2_000;
const TRY_AGAIN_AFTER = 10_000;

export class OpenHome {
  readonly home = signal<Home | null>(null);
  readonly problem = signal<ApiError | null>(null);
  /** The ids of the devices that the person wants to see first, in the person's order. */
  readonly favourites = signal<readonly string[]>([]);
  /** How many events came. A page compares it to know whether to read something again. */
  changes = 0;
  readonly places: ReadonlySignal<readonly Place[]>;
  readonly #devices = new Map<string, Device>();
  readonly #early: [ModuleNotice, string][] = [];
  readonly #stream: LiveStream;
  #timer: number | undefined;
  #reasonTimer: number | undefined;
  readonly #stopWatching: () => void;
  #loading = false;
  #again = false;
  #wasReady = false;
  #closed = false;
  /** How many changes of favourites are being stored, and how many have ended: a list that was read meanwhile may be an old one. */
  #storing = 0;
  #stored = 0;

  constructor(readonly id: string) {
    this.places = computed(() => this.#arrange(this.home.value));
    this.#stream = listen({ plant: id }, (event) => this.#take(event));
    void this.load();
    // A stream that ended says that something is wrong: if the rights ended, only reading the home shows it.
    this.#stopWatching = effect(() => {
      if (!this.#stream.liveness.value.live && this.home.peek()) untracked(() => void this.load());
    });
  }

  get liveness(): ReadonlySignal<Liveness> {
    return this.#stream.liveness;
  }

  get #path(): string {
    return `/home/v1/homes/${this.id}`;
  }

  get #favouritesPath(): string {
    return `${this.#path}/favourites`;
  }

  device(id: string): Device | undefined {
    void this.home.value; // A component that asks for a device is drawn again when the home was read.
    return this.#devices.get(id);
  }

  get devices(): readonly Device[] {
    void this.home.value;
    return [...this.#devices.values()];
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#reasonTimer);
    this.#stopWatching();
    this.#stream.close();
  }

  /** Add or remove a favourite. It is shown at once, and taken back if the gateway refuses it. */
  async setFavourite(id: string, wanted: boolean): Promise<void> {
    const before = this.favourites.value;
    const change = (modules: readonly string[]): readonly string[] => [...modules.filter((one) => one !== id), ...(wanted ? [id] : [])];
    this.favourites.value = change(before);
    this.#storing += 1;
    try {
      // The person may have changed the list on another device.
      const { modules } = await api.get<Favourites>(this.#favouritesPath);
      this.favourites.value = change(modules);
      await api.put(this.#favouritesPath, { modules: this.favourites.value });
    } catch (error) {
      this.favourites.value = before;
      throw error;
    } finally {
      this.#storing -= 1;
      this.#stored += 1;
    }
  }

  #take({ event, data }: LiveEvent): void {
    this.changes += 1;
    if (event === "plant" || event === "people" || event === "reset") void this.load();
    if (event === "ready") this.#readAgain();
    if (!("data" in data)) return;
    const notice = data.data as ModuleNotice;
    if (this.#loading) this.#early.push([notice, data.time ?? ""]);
    this.#notice(notice, data.time ?? "");
  }

  #notice(notice: ModuleNotice, time: string): void {
    const device = this.#devices.get(notice.moduleId);
    device?.notice(notice, time);
    // One reading serves all devices that become unreachable at about the same time.
    if (device?.lacksReason) this.#reasonTimer ??= setTimeout(() => this.#readReasons(), READ_REASONS_AFTER);
  }

  #readReasons(): void {
    this.#reasonTimer = undefined;
    if (this.devices.some((device) => device.lacksReason)) void this.load();
  }

  /** A change that happened before the stream was ready is found by reading the home once more. The first page is drawn before. */
  #readAgain(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.load(), this.#wasReady ? 0 : READ_AGAIN_AFTER);
    this.#wasReady = true;
  }

  /** Read the home. Calls while it is read lead to one more reading. */
  async load(): Promise<void> {
    clearTimeout(this.#timer);
    this.#again = this.#loading;
    if (this.#loading) return;
    this.#loading = true;
    this.#early.length = 0; // Events that came during a reading that failed.
    try {
      const former: Favourites = { modules: this.favourites.value };
      const stored = this.#stored;
      const [home, { modules }] = await Promise.all([api.get<Home>(this.#path), api.get<Favourites>(this.#favouritesPath).catch(() => former)]);
      if (this.#closed) return;
      this.#keep(home);
      if (!this.#storing && stored === this.#stored) this.favourites.value = modules;
      this.problem.value = null;
    } catch (error) {
      // Rights that ended: nothing of the home may be shown any more. A lost connection: the last state stays, marked as old.
      const problem = error instanceof ApiError ? error : new ApiError(0, { text: String(error) });
      this.problem.value = problem;
      if (problem.status === 403 || problem.status === 404) this.home.value = null;
      // The stream may stay open. Then nothing else leads to another reading.
      else if (!this.#closed) this.#timer = setTimeout(() => void this.load(), TRY_AGAIN_AFTER);
    } finally {
      this.#loading = false;
    }
    if (this.#again) await this.load();
  }

  #keep(home: Home): void {
    const known = new Set(home.modules.map((module) => module.id));
    for (const id of this.#devices.keys()) if (!known.has(id)) this.#devices.delete(id);
    for (const module of home.modules) this.#keepModule(module);
    for (const [notice, time] of this.#early.splice(0)) this.#notice(notice, time);
    this.home.value = home;
  }

  #keepModule(module: Module): void {
    const device = this.#devices.get(module.id);
    if (device) device.update(module);
    else this.#devices.set(module.id, new Device(this.id, module));
  }

  #arrange(home: Home | null): readonly Place[] {
    if (!home) return [];
    const byRoom = new Map<string | null, Device[]>();
    for (const { id, roomId } of home.modules) {
      const device = this.#devices.get(id);
      if (!device) continue;
      const devices = byRoom.get(roomId);
      if (devices) devices.push(device);
      else byRoom.set(roomId, [device]);
    }
    const place = (room: Room | null, floor: string | null): Place => ({ floor, room, devices: byRoom.get(room?.id ?? null) ?? [] });
    const places = [
      ...home.floors.flatMap((floor) => floor.rooms.map((room) => place(room, floor.name))),
      ...home.rooms.map((room) => place(room, null)),
      place(null, null),
    ];
    return places.filter(({ room, devices }) => room !== null || devices.length > 0);
  }
}
