/** Every error of docs/errors.md, and the request that causes it in the demo. A test compares the codes with that page. */

import { World, type Prepared, type Where } from "./world";

export interface GatewayError {
  readonly code: number;
  /** The name of the fault. */
  readonly fault: string;
  /** The statuses that an operation answers, in the order in which it chooses. */
  readonly statuses: string;
  /** The request that causes it in the demo, and the status of its answer. */
  readonly cause: { readonly status: number; readonly prepare: (world: World) => Prepared | Promise<Prepared> };
}

const HOMEAUTO = "/homeauto/v1.0";
const HOMECTL = "/homectl/api/v1.0";
const PLANTS = `${HOMEAUTO}/plants`;
const NOTHING = "00000000-0000-4000-8000-000000000000";

const hex = (id: string): string => id.replaceAll("-", "");
const topology = (home: string): string => `${PLANTS}/${home}/topology`;
const module = (prefix: string, { home, module: id }: Where): string => `${prefix}/addressLocation/plants/${home}/modules/parameter/id/value/${id}`;
const light = (where: Where): string => module(`${HOMEAUTO}/light/lighting`, where);
const thermostat = (where: Where): string => module("/thermostat/v2.0/chronothermostat/thermoregulation", where);
const plugs = (home: string, room: string): string => `${HOMECTL}/plug/energy/addressLocation/plants/${hex(home)}/ambients/parameter/id/value/${hex(room)}`;
const subscription = (home: string): string => `/thermostat/v2.0/plants/${home}/subscription`;

/** A fault on demand in a simulated module, then the request. */
function injected(kind: string, fault: string, prepare: (world: World, where: Where) => Prepared) {
  return async (world: World): Promise<Prepared> => {
    const where = await world.findModule(kind);
    await world.inject(where, fault);
    return { ...prepare(world, where), after: () => world.clear(where) };
  };
}

const readThermostat = (world: World, where: Where): Prepared => world.get(thermostat(where));

export const ERRORS: readonly GatewayError[] = [
  { code: 1001, fault: "KeyRefused", statuses: "401", cause: { status: 401, prepare: (world) => world.get(PLANTS, { key: "" }) } },
  { code: 1002, fault: "TokenRefused", statuses: "401", cause: { status: 401, prepare: (world) => world.get(PLANTS, { token: "" }) } },
  { code: 1003, fault: "ScopeMissing", statuses: "401", cause: { status: 401, prepare: async (world) => world.get(PLANTS, { token: await world.narrowToken() }) } },
  { code: 1004, fault: "TooManyRequests", statuses: "429", cause: { status: 429, prepare: async (world) => ({ ...world.get(PLANTS, await world.limitedKey()), times: 40, after: () => world.dropKey() }) } },
  { code: 1005, fault: "PasswordToRenew", statuses: "469", cause: { status: 469, prepare: injected("chronothermostat", "469", readThermostat) } },
  { code: 1006, fault: "TermsToAccept", statuses: "470", cause: { status: 470, prepare: injected("chronothermostat", "470", readThermostat) } },
  { code: 2001, fault: "NotYourPlant", statuses: "403, 401", cause: { status: 403, prepare: async (world) => world.get(topology(await world.findForeignHome())) } },
  { code: 2002, fault: "NoSuchPlant", statuses: "404, 400", cause: { status: 404, prepare: (world) => world.get(topology(NOTHING)) } },
  { code: 2003, fault: "NoSuchModule", statuses: "404, 400", cause: { status: 404, prepare: async (world) => world.get(light({ home: (await world.findHome()).id, module: NOTHING })) } },
  { code: 2004, fault: "NoSuchAmbient", statuses: "404, 400", cause: { status: 404, prepare: async (world) => world.post(plugs((await world.findHome()).id, NOTHING), { status: "on" }) } },
  { code: 2005, fault: "NoPlug", statuses: "404", cause: { status: 404, prepare: async (world) => world.post(plugs(...(await world.findRoomWithoutPlug())), { status: "on" }) } },
  { code: 2006, fault: "NotASite", statuses: "404, 400", cause: { status: 400, prepare: async (world) => world.get(`/emergency-lighting/sites/${(await world.findHome(({ site }) => !site)).id}/modules`) } },
  { code: 2007, fault: "UnknownReference", statuses: "404, 400", cause: { status: 400, prepare: (world) => world.get("/emergency-lighting/module/NO-SUCH-UNIT/spare-parts") } },
  { code: 2008, fault: "WrongUrl", statuses: "404", cause: { status: 404, prepare: (world) => world.get(`${HOMEAUTO}/plant`) } },
  { code: 2009, fault: "WrongMethod", statuses: "405", cause: { status: 405, prepare: (world) => ({ ...world.get(PLANTS), method: "DELETE" }) } },
  { code: 2010, fault: "NoSuchSubscription", statuses: "404, 400", cause: { status: 404, prepare: async (world) => ({ ...world.get(`${subscription((await world.findHome()).id)}/${NOTHING}`), method: "DELETE" }) } },
  { code: 2011, fault: "SubscriptionExists", statuses: "409", cause: { status: 409, prepare: subscribedTwice } },
  { code: 3001, fault: "MalformedId", statuses: "400, 404", cause: { status: 400, prepare: async (world) => world.get(light({ home: (await world.findHome()).id, module: "not-an-id" })) } },
  { code: 3002, fault: "MalformedRequest", statuses: "400", cause: { status: 400, prepare: async (world) => world.post(plugs((await world.findHome()).id, NOTHING), "on") } },
  { code: 3003, fault: "ValueOutOfRange", statuses: "442, 400", cause: { status: 442, prepare: async (world) => world.post(module(`${HOMEAUTO}/scene/comfort`, await world.findModule("scene")), { status: "stop" }) } },
  { code: 3004, fault: "NotAcceptable", statuses: "406", cause: { status: 406, prepare: async (world) => world.get(`${HOMECTL}/plants/${hex((await world.findHome()).id)}/topology`, { accept: "text/html" }) } },
  { code: 3005, fault: "BodyTooLarge", statuses: "413", cause: { status: 413, prepare: async (world) => world.post(plugs((await world.findHome()).id, NOTHING), { status: "x".repeat(70_000) }) } },
  { code: 3006, fault: "OrderKeyTaken", statuses: "409", cause: { status: 409, prepare: sameOrderKey } },
  { code: 4001, fault: "DeviceOffline", statuses: "404, 500", cause: { status: 404, prepare: injected("chronothermostat", "offline", readThermostat) } },
  { code: 4002, fault: "DeviceTimeout", statuses: "408, 500, 404", cause: { status: 408, prepare: injected("chronothermostat", "408", readThermostat) } },
  { code: 4003, fault: "DeviceRefused", statuses: "500", cause: { status: 500, prepare: injected("light", "refusing", (world, where) => world.post(light(where), { status: "on" })) } },
  { code: 4004, fault: "CommandNotSupported", statuses: "400, 500", cause: { status: 400, prepare: async (world) => world.post(light(await world.findModule("light", ({ state }) => state?.of === "light" && state.level === null)), { level: 50 }) } },
  { code: 5001, fault: "EchoUnreachable", statuses: "502", cause: { status: 502, prepare: (world) => world.post("/echo/resource", { vehicleType: "echo-fails" }) } },
  { code: 5002, fault: "EchoTimeout", statuses: "504", cause: { status: 504, prepare: (world) => world.post("/echo/resource", { vehicleType: "echo-sleeps" }) } },
  { code: 5999, fault: "Internal", statuses: "500", cause: { status: 500, prepare: injected("light", "500", (world, where) => world.get(light(where))) } },
];

/** Whether an error of the families has this status. */
export function hasStatus(status: number): boolean {
  return ERRORS.some(({ statuses }) => statuses.split(", ").includes(String(status)));
}

/** The second subscription of the same application to the same plant is refused. */
async function subscribedTwice(world: World): Promise<Prepared> {
  const path = subscription((await world.findModule("chronothermostat")).home);
  const receiver = await world.openReceiver();
  const call = world.post(path, { EndPointUrl: receiver.url });
  const { subscriptionId } = await world.sendFirst<{ subscriptionId: string }>(call);
  return {
    ...call,
    after: async () => {
      await world.sendFirst({ ...world.get(`${path}/${subscriptionId}`), method: "DELETE" });
      await receiver.close();
    },
  };
}

/** A second command with the Idempotency-Key of another command is refused. */
async function sameOrderKey(world: World): Promise<Prepared> {
  const where = await world.findModule("light");
  const path = `/home/v1/homes/${where.home}/modules/${where.module}/commands`;
  const more = { key: "", idempotency: crypto.randomUUID?.() ?? String(Math.random()) };
  await world.sendFirst(world.post(path, { do: "set light", on: true }, more));
  return world.post(path, { do: "set light", on: false }, more);
}
