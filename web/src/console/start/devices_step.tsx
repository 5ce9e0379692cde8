/** Search for devices, choose a room for each, and add them to the home. */

import { useState } from "preact/hooks";
import { api } from "../../app/api";
import { count, t } from "../../app/i18n";
import { MANAGE } from "../../kit/load";
import { Button } from "../../parts/button";
import { Select } from "../../parts/field";
import { Show, useLoad } from "../../parts/loaded";
import { Notice } from "../../parts/notice";
import { toast } from "../../parts/toast";
import { valueWords } from "../values";
import { BrokerHelp } from "./broker_help";
import { guessRoom, nameInRoom, type Discovery, type FoundDevice, type Room } from "./found";

interface Content {
  readonly floors: readonly { readonly ambients: readonly Room[] }[];
  readonly ambients: readonly Room[];
}

interface Prepared {
  readonly rooms: readonly Room[];
  readonly brokers: readonly string[];
}

const LEAVE_OUT = "-";

async function prepare(home: string): Promise<Prepared> {
  const [content, mqtt] = await Promise.all([
    api.get<Content>(`${MANAGE}/plants/${home}/content`),
    api.get<{ connections: readonly string[] }>(`${MANAGE}/drivers/mqtt`),
  ]);
  return { rooms: [...content.floors.flatMap(({ ambients }) => ambients), ...content.ambients], brokers: mqtt.connections };
}

export function DevicesStep({ home, onDone }: { home: string; onDone: () => void }) {
  const loaded = useLoad(home, () => prepare(home));
  return <Show of={loaded}>{(prepared) => <Search {...prepared} home={home} onDone={onDone} />}</Show>;
}

function Search({ home, rooms, brokers, onDone }: Prepared & { home: string; onDone: () => void }) {
  const sources = [...brokers.map((name) => [`mqtt ${name}`, t("console.start.devices.broker", { name })] as const), ["simulator", t("console.start.devices.simulated")] as const];
  const [source, setSource] = useState<string>(sources[0]?.[0] ?? "simulator");
  const [result, setResult] = useState<Discovery | null>(null);
  const [roomOf, setRoomOf] = useState<Readonly<Record<string, string>>>({});
  const search = async (): Promise<void> => {
    const [driver, connection] = source.split(" ", 2);
    const found = await api.post<Discovery>(`${MANAGE}/discoveries`, { driver, ...(connection ? { connection } : {}) }, { timeout: 60_000 });
    setRoomOf(Object.fromEntries(found.found.map(({ id, name }) => [id, guessRoom(name, rooms)?.id ?? LEAVE_OUT])));
    setResult(found);
  };
  const chosen = (result?.found ?? []).filter(({ id, place }) => !place && roomOf[id] !== LEAVE_OUT);
  const add = async (): Promise<void> => {
    const modules = chosen.map(({ id, name, kind, driver, options, hardware }) => {
      const room = rooms.find((one) => one.id === roomOf[id]) ?? null;
      return { id, name: nameInRoom(name, room), kind, driver, options, hardware, ambientId: room?.id ?? null };
    });
    const { placed } = await api.post<{ placed: readonly unknown[] }>(`${MANAGE}/plants/${home}/placements`, { modules });
    toast(count("console.start.devices.added", placed.length));
    onDone();
  };
  return (
    <>
      {!brokers.length && <BrokerHelp />}
      <Select label={t("console.start.devices.where")} value={source} options={sources} onChange={setSource} />
      <Button look={result ? "plain" : "primary"} onClick={search}>
        {t("console.start.devices.search")}
      </Button>
      {result && !result.found.length && <Notice kind="warn" title={t("console.start.devices.nothing")} />}
      {result && result.found.length > 0 && (
        <>
          <ul class="found">
            {result.found.map((device) => (
              <Found key={device.id} device={device} rooms={rooms} value={roomOf[device.id] ?? LEAVE_OUT} onChange={(room) => setRoomOf((last) => ({ ...last, [device.id]: room }))} />
            ))}
          </ul>
          <Button look="primary" disabled={!chosen.length} onClick={add}>
            {count("console.start.devices.add", chosen.length)}
          </Button>
        </>
      )}
      {result?.skipped.map(({ name, why }) => (
        <p key={name} class="soft">
          {name}: {why}
        </p>
      ))}
    </>
  );
}

function Found({ device, rooms, value, onChange }: { device: FoundDevice; rooms: readonly Room[]; value: string; onChange: (room: string) => void }) {
  const { name, kind, about, place } = device;
  return (
    <li>
      <span>
        <strong>{name}</strong>
        <span class="soft">{[valueWords("kind", kind), about].filter(Boolean).join(", ")}</span>
      </span>
      {place ? (
        <span class="soft">{t("console.start.devices.known", { place: [place.plant, place.ambient].filter(Boolean).join(", ") })}</span>
      ) : (
        <select aria-label={t("console.start.devices.room_of", { name })} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value={LEAVE_OUT}>{t("console.start.devices.leave_out")}</option>
          <option value="">{t("console.start.devices.no_room")}</option>
          {rooms.map((room) => (
            <option key={room.id} value={room.id}>
              {room.name}
            </option>
          ))}
        </select>
      )}
    </li>
  );
}
