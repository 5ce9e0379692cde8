/** The last events of a home in words: "Bruno opened Front door". */

import { useEffect, useState } from "preact/hooks";
import { api } from "../app/api";
import { formatTime, formatUnit, t } from "../app/i18n";
import type { IconName } from "../parts/icons";
import { List, Row } from "../parts/list";
import { Show, useLoad } from "../parts/loaded";
import { Empty } from "../parts/notice";
import { Subpage } from "./head";
import type { Command, RecentEvent } from "./model";
import type { OpenHome } from "./store";
import { iconOf, stateWords, temperatureWords } from "./words";

const EVERY = 3_000;

export function EventsPage({ open }: { open: OpenHome }) {
  const [seen, setSeen] = useState(open.changes);
  useEffect(() => {
    // Measured values are events of the stream too, but are not listed here: the list is not read for each of them.
    const timer = setInterval(() => !document.hidden && setSeen(open.changes), EVERY);
    return () => clearInterval(timer);
  }, [open]);
  const path = `/home/v1/homes/${open.id}/events/recent`;
  const recent = useLoad(path, (signal) => api.get<{ items: readonly RecentEvent[] }>(path, { signal, query: { limit: 100 } }), [seen]);
  const home = open.home.value;
  if (!home) return null;
  return (
    <Subpage home={home} current="events">
      <Show of={recent}>{({ items }) => (items.length ? <Events open={open} items={items} /> : <Empty title={t("homes.events.none")} />)}</Show>
    </Subpage>
  );
}

function Events({ open, items }: { open: OpenHome; items: readonly RecentEvent[] }) {
  return (
    <List label={t("homes.tab.events")}>
      {items.map((event, index) => {
        const device = event.moduleId ? open.device(event.moduleId) : undefined;
        const icon = device ? iconOf(device.module.value) : ICONS[event.kind];
        const link = device ? { href: `/homes/${open.id}/devices/${device.id}` } : {};
        return <Row key={`${event.at} ${event.moduleId} ${index}`} icon={icon} title={eventWords(event)} about={aboutWords(event)} {...link} />;
      })}
    </List>
  );
}

const ICONS: Readonly<Record<RecentEvent["kind"], IconName>> = {
  command: "settings",
  state: "settings",
  reachability: "offline",
  safety: "exit",
  people: "people",
  home: "home",
};

function aboutWords({ at, kind, outcome, state }: RecentEvent): string {
  const parts = [formatTime(new Date(at))];
  if (outcome && outcome !== "confirmed") parts.push(t(`homes.outcome.${outcome}`));
  if (kind === "state" && state?.of !== "remote") parts.push(t("homes.events.by_hand"));
  return parts.join(" · ");
}

export function eventWords({ kind, module, by, command, state, reachable, people }: RecentEvent): string {
  const what = module ?? t("homes.events.device");
  switch (kind) {
    case "command":
      return commandWords(by?.name ?? t("homes.events.somebody"), what, command);
    case "state":
    case "safety":
      return `${what}: ${stateWords(state) || t("homes.events.changed")}`;
    case "reachability":
      return t(reachable ? "homes.events.back" : "homes.events.gone", { what });
    case "people":
      return people.length ? t("homes.events.people_of", { names: people.map(({ name }) => name).join(", ") }) : t("homes.events.people");
    case "home":
      return t("homes.events.home");
  }
}

function commandWords(who: string, what: string, command: Command | null): string {
  const did = (key: string, value = ""): string => t(`homes.did.${key}`, { who, what, value });
  const { on, level, color, position, setPoint, mode } = (command ?? {}) as Partial<Record<string, unknown>>;
  if (command?.do === "open lock") return did("open");
  if (command?.do === "activate") return did("activate");
  if (on === false) return did("off");
  if (typeof level === "number") return did("set", formatUnit(level, "percent"));
  if (color) return did("color");
  if (on === true) return did("on");
  if (position === 0) return did("close");
  if (position === 100) return did("open");
  if (typeof position === "number") return did("set", formatUnit(position, "percent"));
  if (typeof setPoint === "number") return did("set", temperatureWords(setPoint));
  if (typeof mode === "string") return did("set", t(`homes.mode.${mode}`));
  return did("change");
}
