/** Lists from which the reader picks an id for a parameter, instead of pasting it. */

import { api } from "../app/api";
import { roomsOf, type Home, type HomeSummary, type Room } from "../homes/model";
import type { Listing } from "../kit/load";
import type { Schema } from "./openapi";

export interface Option {
  readonly id: string;
  readonly name: string;
}

export interface Source {
  readonly key: string;
  readonly load: () => Promise<readonly Option[]>;
}

/** The kinds of modules that an operation is about, by a part of its path. */
const KINDS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\/light\/lighting\//, ["light"]],
  [/\/(?:scene\/comfort|scenes)\/|\/run$/, ["scene"]],
  [/\/plug\/energy\//, ["plug"]],
  [/\/remote\/remote\//, ["remote"]],
  [/\/lock\/automation\//, ["lock"]],
  [/\/chronothermostat\//, ["chronothermostat"]],
  [/\/audiovideounit\/|\/picture$/, ["audiovideo unit"]],
];

export async function listHomes(): Promise<readonly HomeSummary[]> {
  return (await api.get<Listing<HomeSummary>>("/home/v1/homes", { query: { limit: 200 } })).items;
}

export function readHome(id: string): Promise<Home> {
  return api.get<Home>(`/home/v1/homes/${id}`);
}

/** All rooms of a home with their floors, as options. */
function roomOptions(home: Pick<Home, "floors" | "rooms">): readonly Option[] {
  const upstairs = home.floors.flatMap((floor) => floor.rooms.map(({ id, name }) => ({ id, name: `${floor.name} · ${name}` })));
  return [...upstairs, ...home.rooms.map(({ id, name }) => ({ id, name }))];
}

/** The modules of a home with their rooms, as options. */
export function modulesOf(home: Home, fits: (kind: string) => boolean = () => true): readonly Option[] {
  const rooms = new Map(roomsOf(home).map(({ id, name }) => [id, name]));
  return home.modules
    .filter(({ kind }) => fits(kind))
    .map(({ id, name, roomId, kind }) => ({ id, name: [name, rooms.get(roomId ?? ""), kind].filter(Boolean).join(" · ") }));
}

function listOf<T>(address: string, option: (item: T) => Option): Source {
  return { key: address, load: async () => (await api.get<Listing<T>>(address)).items.map(option) };
}

const named = ({ id, name }: Option): Option => ({ id, name });
const byUrl = ({ id, url }: { id: string; url: string }): Option => ({ id, name: url });
const HOMES: Source = { key: "homes", load: listHomes };

/** The lists of parameters, by the beginning of the path. */
const SOURCES: readonly (readonly [string, Readonly<Record<string, Source>>])[] = [
  [
    "/manage/",
    {
      plantid: listOf("/manage/v1/plants?limit=200", named),
      userid: listOf("/manage/v1/users?limit=200", ({ id, name, email }: Option & { email: string }) => ({ id, name: `${name} · ${email}` })),
      clientid: listOf("/manage/v1/clients?limit=200", named),
      subscriptionid: listOf("/manage/v1/subscriptions?limit=200", named),
      webhookid: listOf("/manage/v1/webhooks?limit=200", byUrl),
      driver: listOf("/manage/v1/drivers", ({ name }: { name: string }) => ({ id: name, name })),
      orderid: listOf("/manage/v1/orders?limit=200", ({ id, state }: { id: string; state: string }) => ({ id, name: `${id.slice(0, 8)} · ${state}` })),
    },
  ],
  [
    "/",
    {
      plantid: HOMES,
      plant: HOMES,
      homeid: HOMES,
      siteid: { key: "sites", load: async () => (await listHomes()).filter(({ site }) => site) },
      webhookid: listOf("/webhooks", byUrl),
      clientid: listOf("/developer/v1/applications", named),
      keyid: listOf("/developer/v1/keys", named),
    },
  ],
];

export function isHome(parameter: string): boolean {
  return ["plantid", "homeid", "siteid"].includes(parameter.toLowerCase());
}

/** The list for a parameter of an operation at this path, if there is one. `chosen` is the id of the chosen home. */
export function sourceFor(parameter: string, path: string, chosen: string): Source | null {
  const name = parameter.toLowerCase();
  const home = chosen.replace(/^(.{8})(.{4})(.{4})(.{4})([^-]{12})$/, "$1-$2-$3-$4-$5");
  if (home && (name === "ambientid" || name === "floorid")) return { key: `${name} ${path} ${home}`, load: () => listPlaces(path, home, name) };
  if (home && (name === "moduleid" || name === "deviceid")) return moduleSource(path, home);
  return SOURCES.find(([beginning]) => path.startsWith(beginning))?.[1][name] ?? null;
}

/** Floors or rooms as the management API lists them. */
interface Content {
  readonly floors: readonly (Option & { readonly ambients: readonly Room[] })[];
  readonly ambients: readonly Room[];
}

async function listPlaces(path: string, home: string, parameter: string): Promise<readonly Option[]> {
  if (!path.startsWith("/manage/")) return roomOptions(await readHome(home));
  const { floors, ambients } = await api.get<Content>(`/manage/v1/plants/${home}/content`);
  return parameter === "floorid" ? floors : roomOptions({ floors: floors.map((floor) => ({ ...floor, rooms: floor.ambients })), rooms: ambients });
}

function moduleSource(path: string, home: string): Source {
  const kinds = KINDS.find(([part]) => part.test(path))?.[1];
  const fits = (kind: string): boolean => !kinds || kinds.includes(kind);
  if (!path.startsWith("/manage/")) return { key: `modules ${path} ${home}`, load: async () => modulesOf(await readHome(home), fits) };
  const address = `/manage/v1/plants/${home}/modules?limit=200`;
  return { key: `${path} ${address}`, load: async () => (await api.get<Listing<Option & { kind: string }>>(address)).items.filter(({ kind }) => fits(kind)) };
}

/** The id as this API writes it: home control leaves the dashes out. */
export function fitId(id: string, schema: Schema): string {
  if (!schema.pattern) return id;
  const pattern = new RegExp(schema.pattern);
  const short = id.replaceAll("-", "");
  return !pattern.test(id) && pattern.test(short) ? short : id;
}
