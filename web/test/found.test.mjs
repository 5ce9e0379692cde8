import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { guessRoom, nameInRoom } from "../src/console/found";

const ROOMS = [
  { id: "1", name: "Room" },
  { id: "2", name: "Living room" },
  { id: "3", name: "Küche" },
];

test("a device gets the room with the longest name that its own name contains", () => {
  assert.equal(guessRoom("living_room_lamp", ROOMS)?.id, "2");
  assert.equal(guessRoom("ROOM/lamp", ROOMS)?.id, "1");
  assert.equal(guessRoom("küche-lampe", ROOMS)?.id, "3");
  assert.equal(guessRoom("garage lamp", ROOMS), null);
  assert.equal(guessRoom("lamp", [{ id: "4", name: " " }]), null);
});

test("in its room a device has the rest of its name", () => {
  assert.equal(nameInRoom("living_room_reading_lamp", ROOMS[1]), "Reading lamp");
  assert.equal(nameInRoom("living_room", ROOMS[1]), "living_room");
  assert.equal(nameInRoom("garage_lamp", null), "Garage lamp");
});
