/** What a device measured: charts by day, week, month or year, and a file for a spreadsheet. */

import { t } from "../app/i18n";
import { saveFile } from "../app/save_file";
import { Button } from "../parts/button";
import { Show } from "../parts/loaded";
import type { Device } from "./device";
import type { Home } from "./model";
import { MEASURES, PeriodChart } from "./period_chart";
import { PeriodChoice, usePeriod } from "./period_choice";
import { csvOf, readReadings } from "./readings";
import { zoneOf } from "./zone";

const MEASURING = new Set(["plug", "energymeter", "chronothermostat"]);

export function History({ home, device }: { home: Home; device: Device }) {
  return MEASURING.has(device.module.value.state?.of ?? "") ? <Charts home={home} id={device.id} name={device.module.value.name} /> : null;
}

function Charts({ home, id, name }: { home: Home; id: string; name: string }) {
  const { choice, choose, period, loaded } = usePeriod(`${home.id} ${id}`, zoneOf(home), async (periods, signal) => {
    const [readings, readingsBefore] = await Promise.all([periods.period, periods.before].map((one) => readReadings(home.id, id, one, signal)));
    return { readings: readings ?? [], readingsBefore: readingsBefore ?? [] };
  });
  return (
    <section class="part history">
      <h2>{t("homes.history.title")}</h2>
      <PeriodChoice choice={choice} period={period} choose={choose} />
      <Show of={loaded}>
        {(found) => {
          const measures = MEASURES.filter((measure) => [...found.readings, ...found.readingsBefore].some((reading) => reading.measure === measure));
          if (!measures.length) return <p class="soft">{t("homes.history.none")}</p>;
          return (
            <>
              {measures.map((measure) => (
                <PeriodChart key={measure} measure={measure} {...found} />
              ))}
              <p class="soft">{t("homes.history.zoom")}</p>
              <Button onClick={() => saveFile(`${name}-${found.period.range}.csv`, csvOf(found.readings, found.period.zone))}>{t("homes.history.csv")}</Button>
            </>
          );
        }}
      </Show>
    </section>
  );
}
