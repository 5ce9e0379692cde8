/** The energy that a home used in a day, week, month or year, compared with the one before, and what it cost. */

import { api } from "../app/api";
import { formatNumber, t } from "../app/i18n";
import { saveFile } from "../app/save_file";
import { Button } from "../parts/button";
import { List, Row } from "../parts/list";
import { Show } from "../parts/loaded";
import { Empty } from "../parts/notice";
import { Subpage } from "./head";
import { roomsOf, type Energy, type Home, type Used } from "./model";
import type { Period } from "./period";
import { PeriodChart } from "./period_chart";
import { PeriodChoice, usePeriod } from "./period_choice";
import { csvOfDevices, readReadings, type PeriodReading } from "./readings";
import type { OpenHome } from "./store";
import { iconOf } from "./words";
import { zoneOf } from "./zone";

const MOST_METERS = 5;
/** The limits of the home API allow no more devices in one file. */
const MOST_IN_FILE = 200;
const AT_ONCE = 4;

export function EnergyPage({ open }: { open: OpenHome }) {
  const home = open.home.value;
  return home && <EnergyOf open={open} home={home} />;
}

function EnergyOf({ open, home }: { open: OpenHome; home: Home }) {
  const meters = open.devices.filter(({ module }) => module.value.kind === "energymeter").map(({ id }) => id);
  const { choice, choose, period, loaded } = usePeriod(open.id, zoneOf(home), async ({ period: chosen, before }, signal) => {
    // A period that has not ended is compared with the same part of the period before.
    const elapsed = Math.max(60_000, Math.min(chosen.until.getTime(), Date.now()) - chosen.since.getTime());
    const sum = (one: Period): Promise<Energy> => {
      const until = new Date(Math.min(one.until.getTime(), one.since.getTime() + elapsed));
      return api.get<Energy>(`/home/v1/homes/${open.id}/energy`, { query: { since: one.since.toISOString(), until: until.toISOString() }, signal });
    };
    const measure = async (one: Period): Promise<readonly PeriodReading[]> =>
      meters.length > MOST_METERS ? [] : (await Promise.all(meters.map((id) => readReadings(open.id, id, one, signal)))).flat();
    const [energy, energyBefore, readings, readingsBefore] = await Promise.all([sum(chosen), sum(before), measure(chosen), measure(before)]);
    return { energy, energyBefore, readings, readingsBefore };
  });
  return (
    <Subpage home={home} current="energy">
      <PeriodChoice choice={choice} period={period} choose={choose} />
      <Show of={loaded}>
        {({ energy, energyBefore, ...chart }) =>
          energy.used === null && energyBefore.used === null ? (
            <Empty title={t("homes.energy.none")} />
          ) : (
            <>
              <Total energy={energy} before={comparable(energy, energyBefore, meters)} />
              {chart.readings.length > 0 && <PeriodChart measure="energy" {...chart} />}
              <Parts open={open} home={home} energy={energy} />
              <Table open={open} home={home} energy={energy} period={chart.period} />
            </>
          )
        }
      </Show>
    </Subpage>
  );
}

/** A file with what each device measured. It is loaded only when the person wants it. */
function Table({ open, home, energy, period }: { open: OpenHome; home: Home; energy: Energy; period: Period }) {
  const devices = [...energy.modules].sort(byUse).flatMap(({ moduleId }) => open.device(moduleId) ?? []);
  if (!devices.length) return null;
  const save = async (): Promise<void> => {
    const found: (readonly [string, readonly PeriodReading[]])[] = [];
    for (let first = 0; first < Math.min(devices.length, MOST_IN_FILE); first += AT_ONCE) {
      const some = devices.slice(first, Math.min(first + AT_ONCE, MOST_IN_FILE));
      found.push(...(await Promise.all(some.map(async ({ id, module }) => [module.value.name, await readReadings(home.id, id, period)] as const))));
    }
    saveFile(`${home.name}-${period.range}.csv`, csvOfDevices(found, period.zone));
  };
  return (
    <>
      {devices.length > MOST_IN_FILE && <p class="soft">{t("homes.energy.most_in_file", { number: formatNumber(MOST_IN_FILE) })}</p>}
      <Button onClick={save}>{t("homes.history.csv")}</Button>
    </>
  );
}

/**
 * The total of the period before, from the same kind of devices as the total of the period. The home API chooses the kind for each request:
 * a meter that measured only in the period before must not be compared with plugs.
 */
export function comparable(energy: Energy, before: Energy, meters: readonly string[]): Energy {
  const ofMeters = ({ modules }: Energy): boolean => modules.some(({ moduleId, used }) => used !== null && meters.includes(moduleId));
  if (energy.used === null || ofMeters(energy) === ofMeters(before)) return before;
  const same = before.modules.filter(({ moduleId }) => meters.includes(moduleId) === ofMeters(energy));
  const sum = (values: readonly (number | null)[]): number | null =>
    values.reduce((total, value) => (value === null ? total : (total ?? 0) + value), null);
  return { ...before, used: sum(same.map(({ used }) => used)), cost: sum(same.map(({ cost }) => cost)) };
}

const byUse = (one: Used, other: Used): number => (other.used ?? 0) - (one.used ?? 0);

const kilowattHours = (value: number): string => `${formatNumber(value, { maximumFractionDigits: value < 10 ? 2 : 1 })} kWh`;

function costWords(cost: number | null, currency: string | null): string {
  if (cost === null || !currency) return "";
  try {
    return formatNumber(cost, { style: "currency", currency });
  } catch {
    return `${formatNumber(cost, { minimumFractionDigits: 2 })} ${currency}`; // A currency without a code of three letters.
  }
}

function usedWords({ used, cost }: Used, currency: string | null): string {
  return [kilowattHours(used ?? 0), costWords(cost, currency)].filter(Boolean).join(" · ");
}

function Total({ energy, before }: { energy: Energy; before: Energy }) {
  const { used, currency } = energy;
  const cost = costWords(energy.cost, currency);
  return (
    <div class="panel energy-total">
      <p class="energy-used">
        <strong>{used === null ? "–" : kilowattHours(used)}</strong>
        {cost && <span>{cost}</span>}
      </p>
      <p class="soft">
        {before.used === null ? t("homes.energy.no_before") : t("homes.energy.before", { value: usedWords(before, currency) })}
      </p>
      {energy.simulated && <p class="soft">{t("homes.energy.simulated")}</p>}
    </div>
  );
}

/** The rooms and the devices by how much they used. */
function Parts({ open, home, energy }: { open: OpenHome; home: Home; energy: Energy }) {
  const names = new Map(roomsOf(home).map(({ id, name }) => [id, name]));
  const about = (used: Used): string => usedWords(used, energy.currency);
  const rooms = energy.rooms.filter(({ roomId }) => names.has(roomId)).sort(byUse);
  const devices = energy.modules.flatMap((used) => {
    const device = open.device(used.moduleId);
    return device ? [{ ...used, device }] : [];
  });
  return (
    <>
      {rooms.length > 0 && (
        <section class="part">
          <h2>{t("homes.energy.rooms")}</h2>
          <List>
            {rooms.map((room) => (
              <Row key={room.roomId} icon="home" title={names.get(room.roomId)} about={about(room)} href={`/homes/${home.id}/rooms/${room.roomId}`} />
            ))}
          </List>
        </section>
      )}
      {devices.length > 0 && (
        <section class="part">
          <h2>{t("homes.energy.devices")}</h2>
          <List>
            {devices.sort(byUse).map(({ device, ...used }) => (
              <Row key={device.id} icon={iconOf(device.module.value)} title={device.module.value.name} about={about(used)} href={`/homes/${home.id}/devices/${device.id}`} />
            ))}
          </List>
        </section>
      )}
    </>
  );
}
