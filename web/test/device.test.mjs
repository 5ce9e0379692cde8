import "./browser.mjs";
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Device } from "../src/homes/device";

// The timer that renews the tokens would keep the test running.
mock.timers.enable({ apis: ["setTimeout"] });

const AT = "2026-11-16T08:00:00Z";
const lamp = (on) => ({ id: "a", name: "Lamp", kind: "light", roomId: null, state: { of: "light", on, level: null, color: null }, reachable: true, unreachable: null, lastHeardAt: AT });

/** A lamp of a gateway that answers its commands when and as the test wants. */
function openLamp() {
  const answers = [];
  globalThis.fetch = async (address) => {
    const { pathname, searchParams } = new URL(address, location);
    if (pathname === "/auth/token") return Response.json({ access_token: "a", id_token: "e30.e30.", expires_in: 600, scope: "home.use" });
    if (pathname === "/auth/authorize") {
      const answer = new URLSearchParams({ state: searchParams.get("state"), iss: `${location.origin}/auth`, code: "c" });
      return { ok: true, status: 200, url: `${location.origin}/signed-in?${answer}` };
    }
    return new Promise((resolve) => answers.push(resolve));
  };
  const device = new Device("h", lamp(false));
  const send = async (on) => {
    const [number, ended] = [answers.length, device.send({ do: "set light", on }, { on })];
    while (answers.length === number) await new Promise(setImmediate);
    return { ended, answer: (response) => (answers[number](response), ended) };
  };
  return { device, send };
}

const result = (outcome, on) => Response.json({ outcome, detail: "", beganAt: AT, endedAt: AT, module: lamp(on) });

for (const [words, late] of [
  ["is confirmed", () => result("confirmed", false)],
  ["was not answered", () => result("unanswered", false)],
  ["is refused", () => Response.json({ detail: "no" }, { status: 409 })],
]) {
  test(`a command that ${words} after a newer one leaves no message about a failure`, async () => {
    const { device, send } = openLamp();
    const first = await send(true);
    const second = await send(false);
    await second.answer(result("confirmed", false));
    await first.answer(late());
    assert.equal(device.failure.value, null);
    assert.ok(!device.isPending.value);
  });
}

test("the failure of the newest command is shown, also if an older one ends later", async () => {
  const { device, send } = openLamp();
  const first = await send(true);
  const second = await send(false);
  await second.answer(result("unanswered", true));
  await first.answer(result("confirmed", true));
  assert.equal(device.failure.value?.outcome, "unanswered");
});
