/** A home: its rooms with their devices, floor by floor; or only one room. */

import { useEffect, useState } from "preact/hooks";
import { count, formatDate, t } from "../app/i18n";
import { Empty } from "../parts/notice";
import { PageTitle } from "../parts/page_title";
import { Card } from "./card";
import type { Device } from "./device";
import { NotInHome, Tabs } from "./head";
import type { OpenHome, Place } from "./store";

const FIRST_CARDS = 24;
const MORE_CARDS = 40;

/** How many cards to draw. A large home shows its first cards at once, and the others step by step while the browser is idle. */
function useGrowing(total: number): number {
  const [most, setMost] = useState(FIRST_CARDS);
  useEffect(() => {
    if (most >= total) return;
    return whenIdle(() => setMost(most + MORE_CARDS));
  }, [most, total]);
  return most;
}

/** Call `act` when the browser is idle, or soon if the browser cannot say this. Returns a function that cancels the call. */
function whenIdle(act: () => void): () => void {
  if (!("requestIdleCallback" in window)) {
    const timer = setTimeout(act, 30);
    return () => clearTimeout(timer);
  }
  const request = requestIdleCallback(act, { timeout: 500 });
  return () => cancelIdleCallback(request);
}

/** The first devices of each place, so that all places together have at most `most` devices. A complete list stays the same one. */
function limit(places: readonly Place[], most: number): readonly (readonly Device[])[] {
  let left = most;
  return places.map(({ devices }) => {
    const shown = left >= devices.length ? devices : devices.slice(0, Math.max(0, left));
    left -= devices.length;
    return shown;
  });
}

export function HomePage({ open, only }: { open: OpenHome; only?: string }) {
  const [search, setSearch] = useState("");
  const home = open.home.value;
  const most = useGrowing(home?.modules.length ?? 0);
  if (!home) return null;
  const places = open.places.value.filter(({ room }) => !only || room?.id === only);
  const found = search.trim() ? places.map((place) => filter(place, search.trim())).filter(({ devices }) => devices.length) : places;
  const shown = limit(found, most);
  const room = only ? places[0]?.room : null;
  if (only && !room) return <NotInHome home={home} words={t("homes.no_room")} />;
  return (
    <div class="home">
      <header class="page-head">
        <div>
          <p class="crumbs">
            <a href="/homes">{t("homes.title")}</a>
            {only && <a href={`/homes/${home.id}`}>{home.name}</a>}
          </p>
          {room ? <PageTitle words={room.name} of={home.name} /> : <PageTitle words={home.name} />}
          {home.role === "guest" && home.until && (
            <p class="soft">{t("homes.guest_until", { time: formatDate(new Date(home.until), { dateStyle: "medium", timeStyle: "short" }) })}</p>
          )}
        </div>
        {places.reduce((total, { devices }) => total + devices.length, 0) > 8 && (
          <input type="search" class="search" aria-label={t("homes.search")} placeholder={t("homes.search")} value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
        )}
      </header>
      {!only && <Tabs home={home} current="devices" />}
      {!only && !search && <Favourites open={open} />}
      {found.length ? (
        found.map((place, index) => (
          <Room
            key={place.room?.id ?? "none"}
            home={home.id}
            place={place}
            shown={shown[index] ?? []}
            floor={place.floor !== found[index - 1]?.floor ? place.floor : null}
            title={only ? null : home.floors.length ? "h3" : "h2"}
          />
        ))
      ) : (
        <Empty title={search ? t("homes.nothing_found") : t("homes.empty")} />
      )}
    </div>
  );
}

function Favourites({ open }: { open: OpenHome }) {
  const devices = open.favourites.value.flatMap((id) => open.device(id) ?? []);
  if (!devices.length) return null;
  return (
    <section class="room" aria-label={t("homes.favourites.title")}>
      <h2 class="floor">{t("homes.favourites.title")}</h2>
      <Cards home={open.id} devices={devices} />
    </section>
  );
}

function Cards({ home, devices }: { home: string; devices: readonly Device[] }) {
  return (
    <div class="cards">
      {devices.map((device) => (
        <Card key={device.id} device={device} href={`/homes/${home}/devices/${device.id}`} />
      ))}
    </div>
  );
}

function filter(place: Place, search: string): Place {
  const wanted = search.toLocaleLowerCase();
  const matches = (text: string): boolean => text.toLocaleLowerCase().includes(wanted);
  if (place.room && matches(place.room.name)) return place;
  return { ...place, devices: place.devices.filter((device: Device) => matches(device.module.value.name)) };
}

interface RoomProps {
  readonly home: string;
  readonly place: Place;
  /** The devices that are drawn now. */
  readonly shown: readonly Device[];
  /** The name of the floor, if this is the first room of it. */
  readonly floor: string | null;
  /** The heading of the room. In a home without floors nothing is between it and the heading of the page. */
  readonly title: "h2" | "h3" | null;
}

function Room({ home, place, shown, floor, title: Title }: RoomProps) {
  const { room, devices } = place;
  return (
    <section class="room" aria-label={room?.name ?? t("homes.without_room")}>
      {floor && <h2 class="floor">{floor}</h2>}
      {Title && (
        <Title class="room-title">
          {room ? <a href={`/homes/${home}/rooms/${room.id}`}>{room.name}</a> : t("homes.without_room")}
          <span class="soft">{count("homes.devices", devices.length)}</span>
        </Title>
      )}
      {devices.length ? <Cards home={home} devices={shown} /> : <p class="soft">{t("homes.empty_room")}</p>}
    </section>
  );
}
