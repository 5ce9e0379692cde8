/** Finds devices with a driver, and places them into the rooms of a plant: by drag, with a list of rooms, or by a pattern of names. */

import { useEffect, useState } from "preact/hooks";
import { api } from "../app/api";
import { count, t } from "../app/i18n";
import { query, setQuery } from "../app/router";
import { number, text, type Values } from "../kit/form";
import { MANAGE, readAll, readList } from "../kit/load";
import { FormButton, Head, Section } from "../kit/parts";
import { Button } from "../parts/button";
import { Field, Select } from "../parts/field";
import { Show, useLoad } from "../parts/loaded";
import { Empty, Notice } from "../parts/notice";
import { BrokerForm } from "./broker_form";
import { DropRoom, MODULE, RoomSelect } from "./drop_room";
import { discover, place, type Discovery, type FoundDevice, type Placement } from "./found";
import type { Driver, DriverFacts, Plant } from "./model";
import { readContent, roomsOf, type Content } from "./rooms";
import { UndoNotice, useUndo } from "./undo";
import { valueWords } from "./values";

export function DiscoveryPage() {
  const drivers = useLoad("drivers", async () => {
    const { items } = await readList<Driver>("/drivers", { limit: undefined });
    const facts = await Promise.all(items.map(({ name }) => api.get<DriverFacts>(`${MANAGE}/drivers/${name}`)));
    return facts.filter(({ canDiscover }) => canDiscover);
  });
  const [result, setResult] = useState<Discovery | null>(null);
  const search = async (values: Values): Promise<void> => {
    setResult(await discover(text(values, "driver"), text(values, "connection") || null, number(values, "seconds") ?? 3));
  };
  return (
    <>
      <Head title={t("console.discovery.title")} about={t("console.discovery.about")}>
        {drivers.data?.[0] && (
          <FormButton
            label={t("console.discovery.search")}
            icon="search"
            look="primary"
            fields={(given) => searchFields(drivers.data ?? [], text(given, "driver"))}
            onSubmit={search}
          />
        )}
      </Head>
      <Show of={drivers}>{(found) => (
        <>
          {found.some(({ canSetConnection, connections }) => canSetConnection && !connections.length) && (
            <Section title={t("console.broker.title")} about={t("console.broker.none")}>
              <div class="panel wizard">
                <BrokerForm onConnected={drivers.reload} />
              </div>
            </Section>
          )}
          {found.length ? <Result of={result} /> : <Empty title={t("console.discovery.no_driver")} />}
        </>
      )}</Show>
    </>
  );
}

function searchFields(drivers: readonly DriverFacts[], chosen: string) {
  const driver = drivers.find(({ name }) => name === chosen) ?? drivers[0];
  const connections = driver?.connections ?? [];
  return [
    { kind: "choice", name: "driver", label: t("console.modules.driver"), value: driver?.name ?? "", options: drivers.map(({ name }) => [name, name] as const) } as const,
    ...(connections.length ? [{ kind: "choice", name: "connection", label: t("console.discovery.connection"), value: connections[0] ?? "", options: connections.map((name) => [name, name] as const) } as const] : []),
    { kind: "text", name: "seconds", label: t("console.faults.seconds"), type: "number", min: 1, max: 30, value: "3" } as const,
  ];
}

function Result({ of: result }: { of: Discovery | null }) {
  const plants = useLoad("plants", async () => (await readAll<Plant>("/plants")).filter(({ status }) => status === "active"));
  const plant = query.value.get("plant") ?? plants.data?.[0]?.id ?? "";
  const content = useLoad(`content ${plant}`, async () => (plant ? readContent(plant) : null)).data;
  if (!result) return <Empty title={t("console.discovery.nothing_yet")} />;
  const fresh = result.found.filter(({ place }) => !place);
  const known = result.found.filter(({ place }) => place);
  return (
    <>
      <div class="table-tools">
        <Select label={t("console.plants.one")} value={plant} options={(plants.data ?? []).map(({ id, name }) => [id, name] as const)} onChange={(id) => setQuery("plant", id)} />
      </div>
      {content && <Placing key={plant} plant={plant} content={content} devices={fresh} />}
      {known.length > 0 && (
        <Section title={t("console.discovery.known")}>
          <ul>
            {known.map(({ id, name, place }) => (
              <li key={id}>
                <a href={`/console/plants/${place?.plantId}/modules/${id}`}>{name}</a> <span class="soft">{[place?.plant, place?.ambient].filter(Boolean).join(", ")}</span>
              </li>
            ))}
          </ul>
        </Section>
      )}
      {result.skipped.length > 0 && (
        <Section title={t("console.discovery.skipped")}>
          <ul>
            {result.skipped.map(({ name, why }) => (
              <li key={name}>
                {name} <span class="soft">{why}</span>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

function Placing({ plant, content, devices }: { plant: string; content: Content; devices: readonly FoundDevice[] }) {
  const path = `${MANAGE}/plants/${plant}`;
  const [rooms, setRooms] = useState<Readonly<Record<string, string | null>>>({});
  const [pattern, setPattern] = useState("");
  const [placed, setPlaced] = useState<ReadonlySet<string>>(new Set());
  const [left, setLeft] = useState<Placement["left"]>([]);
  const undo = useUndo(async () => setPlaced(new Set()));
  useEffect(() => setRooms({}), [devices]);
  const waiting = devices.filter(({ id }) => !placed.has(id));
  const put = (id: string, room: string | null): void => setRooms((before) => ({ ...before, [id]: room }));
  const placeChosen = async (): Promise<void> => {
    const chosen = waiting.filter(({ id }) => pattern.trim() || rooms[id]);
    const done = await place(plant, chosen.map((device) => [device, rooms[device.id] ?? null] as const), pattern.trim() || null);
    const ids = done.placed.map(({ id }) => id);
    setLeft(done.left);
    setPlaced(new Set([...placed, ...ids]));
    if (ids.length) undo.remember({ words: count("console.discovery.placed", ids.length), undo: () => api.post(`${path}/module-deletions`, { ids }) });
  };
  const row = (device: FoundDevice) => (
    <li key={device.id} draggable onDragStart={(event) => event.dataTransfer?.setData(MODULE, device.id)}>
      <span>
        <b>{device.name}</b> <span class="soft detail">{device.about}</span>
      </span>
      <span class="soft">{valueWords("kind", device.kind)}</span>
      <RoomSelect label={t("console.rooms.move", { name: device.name })} content={content} value={rooms[device.id] ?? null} onChange={(room) => put(device.id, room)} />
    </li>
  );
  return (
    <>
      <UndoNotice of={undo} />
      {left.length > 0 && (
        <Notice kind="warn" title={count("console.discovery.left", left.length)}>
          <ul>
            {left.map(({ id, name, why }) => (
              <li key={id}>
                {name}: {why}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {waiting.length === 0 ? (
        <Empty title={t("console.discovery.all_placed")} />
      ) : (
        <Section title={t("console.discovery.found")}>
          <div class="rooms-grid">
            {[null, ...roomsOf(content)].map((room) => (
              <DropRoom key={room?.id ?? ""} name={room?.name ?? t("console.rooms.none")} actions={null} onDrop={(id) => put(id, room?.id ?? null)}>
                {waiting.filter(({ id }) => (rooms[id] ?? null) === (room?.id ?? null)).map(row)}
              </DropRoom>
            ))}
          </div>
          <div class="pattern">
            <Field label={t("console.discovery.pattern")} hint={t("console.discovery.pattern_about")} value={pattern} onInput={setPattern} />
          </div>
          <div class="buttons">
            <Button look="primary" disabled={!pattern.trim() && !waiting.some(({ id }) => rooms[id])} onClick={placeChosen}>
              {t("console.discovery.place")}
            </Button>
          </div>
        </Section>
      )}
    </>
  );
}
