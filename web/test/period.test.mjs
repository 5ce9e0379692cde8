import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { periodOf, periodWords, stepsOf, tickWords } from "../src/homes/period";
import { csvOf, csvOfDevices, valuesOf } from "../src/homes/readings";

const ROME = "Europe/Rome";
const SUNDAY = new Date("2026-10-25T14:00:00Z"); // the day on which summer time ends
const at = (...times) => times.map((time) => new Date(time));
const borders = ({ since, until }) => [since, until];

test("a week begins on Monday and ends at the next one", () => {
  const { since, until } = periodOf("week", ROME, 0, SUNDAY);
  assert.deepEqual([since, until], at("2026-10-18T22:00Z", "2026-10-25T23:00Z"));
  assert.deepEqual(periodOf("week", ROME, 1, SUNDAY).until, since);
});

test("a week is named by its first and last day", () => {
  assert.match(periodWords(periodOf("week", ROME, 0, SUNDAY)), /^19\D+25\D.*2026$/);
});

test("a day is one of the home, wherever the browser is", () => {
  const now = new Date("2026-11-16T08:00:00Z");
  assert.deepEqual(borders(periodOf("day", "Pacific/Kiritimati", 0, now)), at("2026-11-15T10:00Z", "2026-11-16T10:00Z"));
  const evening = periodOf("day", "America/Los_Angeles", 0, now);
  assert.deepEqual(borders(evening), at("2026-11-16T08:00Z", "2026-11-17T08:00Z"));
  assert.match(periodWords(evening), /16.*2026/);
  assert.match(periodWords(periodOf("day", "America/Los_Angeles", 0, new Date(now.getTime() - 1))), /15.*2026/);
  assert.match(tickWords(periodOf("day", "Asia/Tokyo", 0, now), now), /^17/);
});

test("days on which the clocks change have 23 and 25 hours", () => {
  const days = [
    [ROME, "2026-03-29T12:00Z", 23],
    [ROME, "2026-10-25T12:00Z", 25],
    ["America/Santiago", "2026-09-06T12:00Z", 23], // clocks skip midnight
    ["America/Santiago", "2026-04-04T12:00Z", 25], // clocks go back at midnight: the day before has the hour
    ["Asia/Beirut", "2026-03-29T12:00Z", 23],
    ["America/Havana", "2026-11-01T12:00Z", 25], // clocks show midnight twice
    ["Asia/Kolkata", "2026-11-01T12:00Z", 24],
  ];
  for (const [zone, now, hours] of days) {
    const day = periodOf("day", zone, 0, new Date(now));
    const steps = stepsOf(day);
    assert.equal(steps.length, hours, zone);
    assert.equal(new Set(steps.map((time) => time.getTime())).size, hours, zone);
    assert.equal((day.until - day.since) / 3_600_000, hours, zone);
    assert.deepEqual(periodOf("day", zone, 1, new Date(now)).until, day.since, zone);
  }
});

test("a day without a midnight begins when its first hour begins", () => {
  const day = new Date("2026-09-06T12:00Z");
  assert.deepEqual(periodOf("day", "America/Santiago", 0, day).since, new Date("2026-09-06T04:00Z"));
  const month = stepsOf(periodOf("month", "America/Santiago", 0, day));
  assert.equal(month.length, 30);
  assert.deepEqual(month.slice(4, 7), at("2026-09-05T04:00Z", "2026-09-06T04:00Z", "2026-09-07T03:00Z"));
});

test("months and years have their days and months", () => {
  assert.equal(stepsOf(periodOf("month", ROME, 8, SUNDAY)).length, 28);
  assert.equal(stepsOf(periodOf("year", ROME, 0, SUNDAY)).length, 12);
  assert.deepEqual(periodOf("month", ROME, 10, SUNDAY).since, new Date("2025-11-30T23:00Z"));
});

const reading = (time, measure, more) => ({ at: time, measure, unit: "watt", mean: 5, low: 1, high: 9, last: 4, used: null, ...more });

test("values stand at their hour, and energy of several meters is summed", () => {
  const day = periodOf("day", ROME, 1, SUNDAY);
  const energy = (used) => reading("2026-10-24T07:00:00Z", "energy", { used });
  const readings = [reading("2026-10-24T06:00:00Z", "power"), energy(500), energy(250)];
  assert.equal(valuesOf("power", readings, day)[8], 5);
  assert.equal(valuesOf("energy", readings, day)[9], 0.75);
  assert.equal(valuesOf("energy", readings, day).filter((value) => value !== null).length, 1);
});

test("a table has one line for each reading, with the time of the home", () => {
  const power = reading("2026-10-24T06:00:00Z", "power");
  assert.equal(csvOf([power], ROME), "at,measure,unit,mean,low,high,last,used\r\n2026-10-24T08:00:00+02:00,power,watt,5,1,9,4,\r\n");
  assert.equal(csvOf([power], "America/St_Johns").split("\r\n")[1], "2026-10-24T03:30:00-02:30,power,watt,5,1,9,4,");
});

test("a table of several devices has their names, and a spreadsheet executes none of them", () => {
  const names = ["Plug, left", 'The "big" one', "=1+1", "-2", "Büro"];
  const table = csvOfDevices(names.map((name) => [name, [reading("2026-01-24T07:00:00Z", "power")]]), ROME);
  const [head, ...rows] = table.trimEnd().split("\r\n");
  assert.equal(head, "device,at,measure,unit,mean,low,high,last,used");
  const rest = ",2026-01-24T08:00:00+01:00,power,watt,5,1,9,4,";
  assert.deepEqual(rows, ['"Plug, left"', '"The ""big"" one"', "'=1+1", "'-2", "Büro"].map((name) => name + rest));
});
