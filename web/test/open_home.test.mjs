import "./browser.mjs";
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { OpenHome } from "../src/homes/store";

const LAMPS = ["a", "b"];
const SINCE = "2026-11-16T08:00:00Z";

/** Answers in place of the gateway: a login, a home with two lamps, and a stream that stays open. */
class Gateway {
  why = null;
  readings = 0;
  send = null;
  state = null;
  name = "House";
  favourites = [];
  /** The status of the home. It is answered after this promise. */
  status = 200;
  held = null;

  answer = async (address, request = {}) => {
    const { pathname, searchParams } = new URL(address, location);
    if (pathname === "/auth/authorize") return this.#logIn(searchParams.get("state"));
    if (pathname === "/auth/token") return Response.json({ access_token: "a", id_token: "e30.e30.", expires_in: 600, scope: "home.use" });
    if (pathname === "/events") return this.#stream(request.signal);
    if (pathname.endsWith("/favourites")) {
      if (request.method === "PUT") this.favourites = JSON.parse(request.body).modules;
      return Response.json({ modules: this.favourites });
    }
    this.readings += 1;
    await this.held;
    return Response.json(this.#home(), { status: this.status });
  };

  #logIn(state) {
    const answer = new URLSearchParams({ state, code: "c", iss: `${location.origin}/auth` });
    return { ok: true, status: 200, url: `${location.origin}/signed-in?${answer}` };
  }

  #stream(closing) {
    const body = new ReadableStream({
      start: (controller) => {
        this.send = (event, data) => controller.enqueue(new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
        closing.addEventListener("abort", () => controller.error(closing.reason));
      },
    });
    return new Response(body);
  }

  #home() {
    const unreachable = this.why && { why: this.why, since: SINCE };
    const lamp = (id) => ({ id, name: id, kind: "light", roomId: null, state: this.state, reachable: !this.why, unreachable, lastHeardAt: null });
    return { id: "h", name: this.name, floors: [], rooms: [], modules: LAMPS.map(lamp) };
  }
}

/** Timers stand still. Only answers of the gateway are waited for. */
async function until(holds) {
  for (let turn = 0; turn < 100_000 && !holds(); turn++) await new Promise(setImmediate);
  assert.ok(holds());
}

test("the reason of an absence is read once for all devices that become unreachable", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const gateway = new Gateway();
  globalThis.fetch = gateway.answer;
  const open = new OpenHome("h");
  try {
    await until(() => open.home.value && gateway.send);
    const lamps = LAMPS.map((id) => open.device(id));
    const before = gateway.readings;
    const drop = (moduleId, reachable = false) =>
      gateway.send("reachability", { time: SINCE, data: { plantId: "h", moduleId, reachable, absentSince: reachable ? null : SINCE, state: null } });
    LAMPS.forEach((id) => drop(id));
    await until(() => lamps.every((lamp) => lamp.lacksReason));
    gateway.why = "connection lost";
    mock.timers.tick(2_000);
    await until(() => lamps.every((lamp) => lamp.module.value.unreachable.why === "connection lost"));
    assert.equal(gateway.readings, before + 1);

    gateway.why = null;
    drop("a", true);
    drop("a");
    drop("a", true);
    const seen = open.changes + 3;
    await until(() => open.changes === seen);
    mock.timers.tick(2_000);
    assert.equal(gateway.readings, before + 1, "a device that is back needs no reason");
  } finally {
    open.close();
    mock.timers.reset();
  }
});

test("an event that came while the home could not be read does not replace a newer state", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const gateway = new Gateway();
  const light = (on) => ({ of: "light", on, level: null, color: null });
  const report = (on) => gateway.send("state", { time: SINCE, data: { plantId: "h", moduleId: "a", reachable: true, absentSince: null, state: light(on) } });
  globalThis.fetch = gateway.answer;
  const open = new OpenHome("h");
  try {
    await until(() => open.home.value && gateway.send);
    const lamp = open.device("a");
    let answer;
    gateway.held = new Promise((resolve) => (answer = resolve));
    gateway.status = 500;
    const failing = open.load();
    report(false);
    await until(() => lamp.state.value?.on === false);
    answer();
    await failing;
    assert.equal(open.problem.value.status, 500);

    report(true);
    await until(() => lamp.state.value.on);
    Object.assign(gateway, { held: null, status: 200, state: light(true) });
    await open.load();
    assert.equal(lamp.state.value.on, true);
  } finally {
    open.close();
    mock.timers.reset();
  }
});

test("a home that could not be read is read again, although the stream stays open", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const gateway = new Gateway();
  globalThis.fetch = gateway.answer;
  const open = new OpenHome("h");
  try {
    await until(() => open.home.value && gateway.send);
    Object.assign(gateway, { status: 500, name: "Villa" });
    gateway.send("plant", { time: SINCE, data: { plantId: "h" } });
    await until(() => open.problem.value?.status === 500);
    gateway.status = 200;
    mock.timers.tick(30_000);
    await until(() => open.home.value.name === "Villa");
    assert.equal(open.problem.value, null);
  } finally {
    open.close();
    mock.timers.reset();
  }
});

test("a new favourite does not remove one that the person added on another device", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const gateway = new Gateway();
  globalThis.fetch = gateway.answer;
  const open = new OpenHome("h");
  try {
    await until(() => open.home.value);
    gateway.favourites = ["b"];
    await open.setFavourite("a", true);
    assert.deepEqual(gateway.favourites, ["b", "a"]);
    assert.deepEqual(open.favourites.value, ["b", "a"]);
    await open.setFavourite("b", false);
    assert.deepEqual(gateway.favourites, ["a"]);
  } finally {
    open.close();
    mock.timers.reset();
  }
});
