/** Connect the broker, search for devices, choose a room for each, add them to the home, and try them. */

import { useEffect, useState } from "preact/hooks";
import { api } from "../../app/api";
import { count, t } from "../../app/i18n";
import { MANAGE, type Listing } from "../../kit/load";
import { Button } from "../../parts/button";
import { Select } from "../../parts/field";
import { Show, useLoad } from "../../parts/loaded";
import { Notice } from "../../parts/notice";
import { toast } from "../../parts/toast";
import { BrokerForm } from "../broker_form";
import { discover, guessRoom, nameInRoom, place, type FoundDevice, type Room } from "../found";
import type { DriverFacts } from "../model";
import { readRooms } from "../rooms";
import { valueWords } from "../values";
import { ByTopics } from "./by_topics";
import { TryIt } from "./try_it";

interface Prepared {
  readonly rooms: readonly Room[];
  readonly mqtt: DriverFacts;
  readonly hasModules: boolean;
}

const LEAVE_OUT = "-";
const SIMULATOR = "simulator";
/** A broker that is not connected yet. */
const NEW_BROKER = "mqtt";
/** Brokers send what they have at once. */
const LISTEN = 2;

async function prepare(home: string): Promise<Prepared> {
  const [rooms, mqtt, modules] = await Promise.all([
    readRooms(home),
    api.get<DriverFacts>(`${MANAGE}/drivers/mqtt`),
    api.get<Listing<unknown>>(`${MANAGE}/plants/${home}/modules`, { query: { limit: 1 } }),
  ]);
  return { rooms, mqtt, hasModules: modules.items.length > 0 };
}

export function DevicesStep({ home, onDone }: { home: string; onDone: () => void }) {
  const loaded = useLoad(home, () => prepare(home));
  const [more, setMore] = useState(false);
  const added = async (): Promise<void> => {
    await loaded.reload();
    setMore(false);
  };
  return (
    <Show of={loaded}>
      {(prepared) =>
        prepared.hasModules && !more ? (
          <TryIt home={home} onMore={() => setMore(true)} onDone={onDone} />
        ) : (
          <Sources key={prepared.mqtt.connections.join()} {...prepared} home={home} onConnected={loaded.reload} onAdded={added} />
        )
      }
    </Show>
  );
}

interface SourcesProps extends Prepared {
  readonly home: string;
  readonly onConnected: () => Promise<void>;
  readonly onAdded: () => Promise<void>;
}

function Sources({ home, rooms, mqtt, onConnected, onAdded }: SourcesProps) {
  const brokers = mqtt.connections;
  const brokerName = (name: string): string => (brokers.length > 1 ? t("console.start.devices.broker", { name }) : t("console.broker.title"));
  const sources = [
    ...(brokers.length ? brokers.map((name) => [`mqtt ${name}`, brokerName(name)] as const) : [[NEW_BROKER, t("console.start.devices.new_broker")] as const]),
    [SIMULATOR, t("console.start.devices.simulated")] as const,
  ];
  const [source, setSource] = useState<string>(sources[0]?.[0] ?? SIMULATOR);
  const broker = brokers.length > 1 ? (source.split(" ", 2)[1] ?? null) : null;
  return (
    <>
      <p class="soft">{t("console.start.devices.about")}</p>
      <Select label={t("console.start.devices.where")} value={source} options={sources} onChange={setSource} />
      {source === NEW_BROKER ? <BrokerForm onConnected={onConnected} /> : <Search key={source} source={source} home={home} rooms={rooms} onAdded={onAdded} />}
      {source !== NEW_BROKER && source !== SIMULATOR && <ByTopics home={home} rooms={rooms} broker={broker} onAdded={onAdded} />}
    </>
  );
}

function Search({ source, home, rooms, onAdded }: { source: string; home: string; rooms: readonly Room[]; onAdded: () => Promise<void> }) {
  const result = useLoad(source, () => {
    const [driver = "", connection] = source.split(" ", 2);
    return discover(driver, connection ?? null, LISTEN);
  });
  const [roomOf, setRoomOf] = useState<Readonly<Record<string, string>>>({});
  const found = result.data?.found ?? [];
  useEffect(() => setRoomOf(Object.fromEntries(found.map(({ id, name }) => [id, guessRoom(name, rooms)?.id ?? ""]))), [result.data]);
  const chosen = found.filter(({ id, place }) => !place && roomOf[id] !== LEAVE_OUT);
  const add = async (): Promise<void> => {
    const devices = chosen.map((device) => [{ ...device, name: nameIn(rooms, device, roomOf[device.id]) }, roomOf[device.id] || null] as const);
    const { placed } = await place(home, devices);
    toast(count("console.start.devices.added", placed.length));
    await onAdded();
  };
  if (!result.data && !result.problem) return <p role="status">{t("console.start.devices.searching")}</p>;
  return (
    <Show of={result}>
      {({ skipped }) => (
        <>
          {found.length > 0 ? (
            <ul class="found">
              {found.map((device) => (
                <Found key={device.id} device={device} rooms={rooms} value={roomOf[device.id] ?? ""} onChange={(room) => setRoomOf((last) => ({ ...last, [device.id]: room }))} />
              ))}
            </ul>
          ) : (
            <Notice kind="warn" title={t("console.start.devices.nothing")} />
          )}
          <div class="buttons">
            {found.some(({ place }) => !place) && (
              <Button look="primary" disabled={!chosen.length} onClick={add}>
                {count("console.start.devices.add", chosen.length)}
              </Button>
            )}
            <Button onClick={result.reload}>{t("console.start.devices.search")}</Button>
          </div>
          {skipped.map(({ name, why }) => (
            <p key={name} class="soft">
              {name}: {why}
            </p>
          ))}
        </>
      )}
    </Show>
  );
}

/** The name that a device gets in the room with this id, or in no room. */
function nameIn(rooms: readonly Room[], { name }: FoundDevice, roomId: string | undefined): string {
  return nameInRoom(name, rooms.find(({ id }) => id === roomId) ?? null);
}

function Found({ device, rooms, value, onChange }: { device: FoundDevice; rooms: readonly Room[]; value: string; onChange: (room: string) => void }) {
  const { name, kind, about, place } = device;
  const newName = nameIn(rooms, device, value);
  return (
    <li>
      <span>
        <strong>{name}</strong>
        <span class="soft">{[valueWords("kind", kind), about].filter(Boolean).join(", ")}</span>
        {!place && value !== LEAVE_OUT && newName !== name && <span class="soft">{t("console.start.devices.named", { name: newName })}</span>}
      </span>
      {place ? (
        <span class="soft">{t("console.start.devices.known", { place: [place.plant, place.ambient].filter(Boolean).join(", ") })}</span>
      ) : (
        <select aria-label={t("console.start.devices.room_of", { name })} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {rooms.map((room) => (
            <option key={room.id} value={room.id}>
              {room.name}
            </option>
          ))}
          <option value="">{t("console.start.devices.no_room")}</option>
          <option value={LEAVE_OUT}>{t("console.start.devices.leave_out")}</option>
        </select>
      )}
    </li>
  );
}
