/** Events of all plants as they happen. The newest is first. */

import { useEffect, useState } from "preact/hooks";
import { formatClock, formatTime, t } from "../app/i18n";
import { EVENT_KINDS, listen, type Liveness, type LiveEvent } from "../app/live";
import { query } from "../app/router";
import { MANAGE, readAll } from "../kit/load";
import { Head } from "../kit/parts";
import { Table } from "../kit/table";
import { Button } from "../parts/button";
import { useLoad } from "../parts/loaded";
import type { Plant } from "./model";
import { stateText } from "./state";
import { Tag, valueWords } from "./values";

/** Older events are dropped from the page. */
const MOST = 500;

interface Entry {
  readonly id: string;
  readonly kind: string;
  readonly at: string;
  readonly data: { readonly plantId?: string; readonly moduleId?: string | null; readonly name?: string; readonly reachable?: boolean; readonly state?: Readonly<Record<string, unknown>> | null };
}

function entryOf({ event, data }: LiveEvent): Entry {
  return { id: String(data.id ?? ""), kind: event, at: data.time ?? new Date().toISOString(), data: (data.data ?? {}) as Entry["data"] };
}

export function Events() {
  const kind = query.value.get("kind") ?? "";
  const plantId = query.value.get("plant") ?? "";
  const plants = useLoad("plants", async () => (await readAll<Plant>("/plants"))).data ?? [];
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const [liveness, setLiveness] = useState<Liveness | null>(null);
  const [paused, setPaused] = useState(false);
  useEffect(() => {
    setEntries([]);
  }, [kind, plantId]);
  useEffect(() => {
    if (paused) return;
    const stream = listen({ ...(kind ? { kind } : {}), ...(plantId ? { plantId } : {}) }, (event) => {
      if (EVENT_KINDS.some((one) => one === event.event)) setEntries((before) => [entryOf(event), ...before].slice(0, MOST));
    }, `${MANAGE}/events`);
    const unsubscribe = stream.liveness.subscribe(setLiveness);
    return () => {
      unsubscribe();
      stream.close();
    };
  }, [kind, plantId, paused]);
  const nameOf = (id: string | undefined): string => plants.find((plant) => plant.id === id)?.name ?? id ?? "";
  return (
    <>
      <Head title={t("console.events.title")} about={t("console.events.about")}>
        <Button pressed={paused} onClick={() => setPaused(!paused)}>
          {t(paused ? "console.events.resume" : "console.events.pause")}
        </Button>
        <Button onClick={() => setEntries([])}>{t("console.events.clear")}</Button>
      </Head>
      <p role="status" class="soft">
        {paused ? t("console.events.paused") : liveness?.live ? t("console.events.live") : t("console.events.not_live", { time: formatTime(liveness?.since ?? new Date()) })}
      </p>
      <Table
        label={t("console.events.title")}
        list={{ data: entries }}
        id={({ id }) => id}
        search
        filters={[
          { name: "kind", label: t("console.modules.kind"), options: EVENT_KINDS.map((one) => [one, valueWords("eventkind", one)] as const) },
          { name: "plant", label: t("console.plants.one"), options: plants.map(({ id, name }) => [id, name] as const) },
        ]}
        columns={[
          { title: t("console.orders.queued"), value: ({ at }) => at, cell: ({ at }) => formatClock(new Date(at)) },
          { title: t("console.modules.kind"), value: ({ kind: one }) => valueWords("eventkind", one), cell: ({ kind: one, data }) => <Tag group="eventkind" value={one} kind={data.reachable === false ? "alarm" : ""} /> },
          { title: t("console.plants.one"), value: ({ data }) => nameOf(data.plantId), cell: ({ data }) => <a href={`/console/plants/${data.plantId}`}>{nameOf(data.plantId)}</a> },
          { title: t("console.modules.module"), value: ({ data }) => data.name ?? null, cell: ({ data }) => (data.moduleId ? <a href={`/console/plants/${data.plantId}/modules/${data.moduleId}`}>{data.name ?? data.moduleId}</a> : "–") },
          { title: t("console.state"), value: wordsOf },
        ]}
        empty={t("console.events.none")}
      />
    </>
  );
}

function wordsOf({ data }: Entry): string {
  const reach = data.reachable === undefined ? "" : valueWords("reach", data.reachable ? "online" : "offline");
  return [reach, stateText(data.state ?? null, 4)].filter(Boolean).join(" · ");
}
