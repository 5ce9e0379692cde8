/** Is all well? The problems, the most important numbers, and the last hour. A number leads to its list if there is one. */

import type { ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { api } from "../app/api";
import { count, formatAgo, formatDate, formatNumber, formatTime, hasText, language, t } from "../app/i18n";
import { go } from "../app/router";
import { MANAGE } from "../kit/load";
import { ConfirmButton, Head, Section, useRepeat } from "../kit/parts";
import { Table } from "../kit/table";
import type { Line } from "../parts/chart";
import { LazyChart } from "../parts/lazy_chart";
import { Show, useLoad } from "../parts/loaded";
import { Notice } from "../parts/notice";
import { answeredBy, Gateways } from "./gateways";
import { LOGINS } from "./model";
import { countRequests, sum, type ApiCounts, type Minute, type OverviewData, type ProblemKind } from "./overview_model";
import { valueWords } from "./values";

const REFRESH = 5;
const HOUR = 3_600_000;

/** Where an operator looks at a problem. */
const PLACES: Readonly<Record<ProblemKind, string>> = {
  driver: "/console/drivers",
  connection: "/console/drivers",
  modules: "/console/modules?reachable=offline",
  webhooks: "/console/webhooks?health=failing",
  "dead letters": "/console/webhooks?deadLetters=true",
  database: "/console/logs",
  writes: "/console/logs?level=error",
  clock: "/console/logs",
  backup: "/console/logs?level=error",
  "server errors": "/console/logs?level=error",
  cluster: "#gateways",
};

export function Overview() {
  const loaded = useLoad("overview", () => api.get<OverviewData>(`${MANAGE}/overview`));
  useRepeat(loaded.reload, REFRESH);
  const plants = loaded.data?.plants;
  const isEmpty = plants !== undefined && plants.active + plants.removed === 0;
  // There is nothing to overview yet, so an operator begins with the first home.
  useEffect(() => {
    if (isEmpty) go("/console/start", { replace: true });
  }, [isEmpty]);
  return (
    <>
      <Head title={t("console.overview.title")} about={loaded.data && [t("console.overview.about", { version: loaded.data.version, time: formatTime(new Date(loaded.data.at)) }), answeredBy(loaded.data.gateway)].filter(Boolean).join(" ")} />
      <Show of={loaded}>
        {(overview) => (
          <>
            {overview.plants.active > 0 && overview.modules.total === 0 && (
              <Notice kind="warn" title={t("console.overview.no_devices")}>
                <p>
                  <a href="/console/start">{t("console.overview.continue")}</a>
                </p>
              </Notice>
            )}
            <Problems of={overview} onChanged={loaded.reload} />
            <Tiles of={overview} />
            <Gateways />
            <LastHour minutes={overview.minutes} />
            <Requests rows={countRequests(overview.lastHour)} />
          </>
        )}
      </Show>
    </>
  );
}

function Problems({ of: { problems }, onChanged }: { of: OverviewData; onChanged: () => Promise<void> }) {
  if (!problems.length) return <Notice title={t("console.overview.well")} />;
  return (
    <>
      {problems.map(({ kind, name, detail, count: number }) => (
        <Notice key={`${kind} ${name}`} kind="warn" title={[valueWords("problem", kind), name].filter(Boolean).join(": ")}>
          <p>
            {sentenceOf(kind, number) || <code>{detail}</code>} <a href={PLACES[kind]}>{t("console.overview.look")}</a>
          </p>
          {kind === "clock" && <ConfirmButton look="plain" label={t("console.overview.clock_right")} question={t("console.overview.clock_about")} onConfirm={() => api.post(`${MANAGE}/clock/confirmation`).then(onChanged)} />}
        </Notice>
      ))}
    </>
  );
}

/** The sentence about a problem. It is empty if the cause is known only in the words of a broker, a bus gateway or the machine. */
function sentenceOf(kind: ProblemKind, number: number | null): string {
  const key = `console.trouble.${kind.replaceAll(" ", "_")}`;
  if (number !== null) return count(key, number);
  return hasText(key) ? t(key) : "";
}

function Tiles({ of: { at, problems, drivers, database, plants, modules, webhooks, openStreams, openOrders, lastHour } }: { of: OverviewData }) {
  const running = drivers.filter(({ condition }) => condition === "running").length;
  const connections = drivers.flatMap((driver) => driver.connections);
  const absent = sum(modules.absent);
  const requests = countRequests(lastHour);
  const failed = requests.reduce((total, one) => total + one.failed, 0);
  return (
    <div class="tiles">
      <Tile title={t("console.plants.title")} value={plants.active} href="/console/plants?state=active">
        {plants.removed > 0 && <TileLink href="/console/plants?state=removed" words={valueWords("plantstate", "removed")} number={plants.removed} />}
      </Tile>
      <Tile title={t("console.overview.absent")} value={absent} of={modules.total} href="/console/modules?reachable=offline" bad={problems.some(({ kind }) => kind === "modules")}>
        {Object.entries(modules.absent).map(([why, number]) => (
          <TileLink key={why} href={`/console/modules?${why ? `reason=${encodeURIComponent(why)}` : "reachable=offline"}`} words={valueWords("absence_short", why || "unknown")} number={number} />
        ))}
      </Tile>
      <Tile title={t("console.overview.drivers")} value={running} of={drivers.length} href="/console/drivers" bad={running < drivers.length} />
      {connections.length > 0 && (
        <Tile
          title={t("console.overview.connections")}
          value={connections.filter(({ state }) => state === "connected").length}
          of={connections.length}
          href={PLACES.connection}
          bad={connections.some(({ state }) => state === "lost")}
        />
      )}
      <Tile title={t("console.overview.requests")} value={requests.reduce((total, one) => total + one.total, 0)} href="#requests" bad={failed > 0}>
        {failed > 0 && <TileLink href={PLACES["server errors"]} words={t("console.overview.failed")} number={failed} />}
      </Tile>
      <Tile title={t("console.overview.orders")} value={sum(lastHour.orders)} href="/console/orders">
        {openOrders > 0 && <TileLink href="/console/orders?state=open" words={t("console.overview.open")} number={openOrders} />}
        {Object.entries(lastHour.orders).map(([state, number]) => (
          <TileLink key={state} href={`/console/orders?state=${state}`} words={valueWords("orderstate", state)} number={number} />
        ))}
      </Tile>
      <Tile title={t("console.overview.streams")} value={openStreams}>
        <TileLink href="/console/events" words={t("console.overview.events")} number={lastHour.events} />
      </Tile>
      <Tile title={t("console.overview.pending")} value={webhooks.pending} href="/console/webhooks" bad={webhooks.failing + webhooks.deadLetters > 0}>
        {webhooks.oldestPendingAt && <li>{t("console.overview.oldest", { ago: formatAgo(new Date(webhooks.oldestPendingAt)) })}</li>}
        {webhooks.failing > 0 && <TileLink href="/console/webhooks?health=failing" words={valueWords("health", "failing")} number={webhooks.failing} />}
        {webhooks.deadLetters > 0 && <TileLink href={PLACES["dead letters"]} words={t("console.webhooks.dead")} number={webhooks.deadLetters} />}
      </Tile>
      <Tile title={t("console.overview.logins")} value={lastHour.refusedLogins} href={refusedLogins(at)} bad={lastHour.refusedLogins > 0} />
      <Tile title={t("console.overview.database")} value={database.bytes / 1_048_576} unit="MiB" href="/console/backup" bad={!database.reachable}>
        <li>{database.kind}</li>
      </Tile>
    </div>
  );
}

/** The audit log with the refused logins of the last hour. */
function refusedLogins(at: string): string {
  const since = new Date(Date.parse(at) - HOUR).toISOString();
  return `/console/audit?${new URLSearchParams({ action: LOGINS, successful: "false", since })}`;
}

interface TileProps {
  readonly title: string;
  readonly value: number;
  readonly of?: number;
  readonly unit?: string;
  /** The list of what the number counts, if there is one. */
  readonly href?: string;
  /** Whether the number needs attention. */
  readonly bad?: boolean;
  readonly children?: ComponentChildren;
}

function Tile({ title, value, of, unit, href, bad = false, children }: TileProps) {
  const number = (
    <>
      <span class="tile-title">{title}</span>
      <span class="tile-value">
        {formatNumber(value, { maximumFractionDigits: 1 })}
        {of !== undefined && <small> / {formatNumber(of)}</small>}
        {unit && <small> {unit}</small>}
      </span>
    </>
  );
  return (
    <section class={bad ? "tile bad" : "tile"} aria-label={title}>
      {href ? <a href={href}>{number}</a> : <div>{number}</div>}
      <ul>{children}</ul>
    </section>
  );
}

function TileLink({ href, words, number }: { href: string; words: string; number: number }) {
  return (
    <li>
      <a href={href}>
        {words} <b>{formatNumber(number)}</b>
      </a>
    </li>
  );
}

function LastHour({ minutes }: { minutes: readonly Minute[] }) {
  // The overview is read every few seconds, but its minutes change only once in a minute. Until then the charts are not drawn again.
  const drawnFor = [minutes.at(-1)?.until, minutes.length, language.value];
  const times = useMemo(() => minutes.map(({ until }) => new Date(until)), drawnFor);
  const charts = useMemo(() => chartsOf(minutes), drawnFor);
  return (
    <Section title={t("console.overview.hour")} about={t(minutes.length ? "console.overview.hour_about" : "console.overview.hour_later")}>
      {minutes.length > 0 && (
        <div class="chart-grid">
          {charts.map(({ name, unit, lines }) => (
            <div key={name} class="chart-box">
              <h3>{t(`console.overview.chart.${name}`)}</h3>
              <LazyChart label={t(`console.overview.chart.${name}`)} unit={unit} times={times} lines={lines} height={160} tick={clockTime} zoom goesOn />
            </div>
          ))}
        </div>
      )}
    </Section>
  );
}

function clockTime(at: Date): string {
  return formatDate(at, { timeStyle: "short" });
}

function chartsOf(minutes: readonly Minute[]): readonly { name: string; unit: string; lines: readonly Line[] }[] {
  const counted = minutes.map(countRequests);
  const total = (of: (one: ApiCounts) => number): readonly number[] => counted.map((apis) => apis.reduce((before, one) => before + of(one), 0));
  const slowest = (of: (one: ApiCounts) => number | null): readonly (number | null)[] => counted.map((apis) => apis.reduce<number | null>((before, one) => Math.max(before ?? 0, of(one) ?? 0) || null, null));
  return [
    {
      name: "requests",
      unit: "",
      lines: [
        { label: t("console.overview.answered"), token: "accent", values: total(({ done }) => done) },
        { label: t("console.overview.refused"), token: "warm", values: total(({ refused }) => refused) },
        { label: t("console.overview.failed"), token: "alarm", values: total(({ failed }) => failed) },
      ],
    },
    { name: "durations", unit: "ms", lines: [{ label: "p50", token: "accent", values: slowest(({ p50 }) => p50) }, { label: "p99", token: "warm", values: slowest(({ p99 }) => p99) }] },
    {
      name: "events",
      unit: "",
      lines: [
        { label: t("console.events.title"), token: "accent", values: minutes.map(({ events }) => events) },
        { label: t("console.orders.title"), token: "warm", values: minutes.map(({ orders }) => sum(orders)) },
      ],
    },
    {
      name: "waiting",
      unit: "",
      lines: [
        { label: t("console.overview.absent"), token: "alarm", values: minutes.map(({ absentModules }) => absentModules) },
        { label: t("console.overview.pending"), token: "warm", values: minutes.map(({ pendingDeliveries }) => pendingDeliveries) },
      ],
    },
  ];
}

function statusText(statuses: ApiCounts["statuses"]): string {
  return Object.entries(statuses).map(([status, number]) => `${status}: ${formatNumber(number)}`).join(" · ");
}

function Requests({ rows }: { rows: readonly ApiCounts[] }) {
  const milliseconds = (value: number | null): string => (value === null ? "–" : `${formatNumber(value, { maximumFractionDigits: 1 })} ms`);
  return (
    <div id="requests">
      <Section title={t("console.overview.by_api")} about={t("console.overview.by_api_about")}>
        <Table
          label={t("console.overview.by_api")}
          list={{ data: rows }}
          id={(row) => row.api}
          columns={[
            { title: "API", value: (row) => row.api },
            { title: t("console.overview.answered"), value: ({ done }) => done, cell: ({ done }) => formatNumber(done) },
            { title: t("console.overview.refused"), value: ({ refused }) => refused, cell: ({ refused }) => formatNumber(refused) },
            { title: t("console.overview.failed"), value: ({ failed }) => failed, cell: ({ failed }) => (failed ? <a class="link-alone" href={PLACES["server errors"]}>{formatNumber(failed)}</a> : formatNumber(failed)) },
            { title: t("console.overview.statuses"), value: ({ statuses }) => statusText(statuses) },
            { title: "p50", value: ({ p50 }) => p50, cell: ({ p50 }) => milliseconds(p50) },
            { title: "p99", value: ({ p99 }) => p99, cell: ({ p99 }) => milliseconds(p99) },
          ]}
          empty={t("console.overview.no_requests")}
        />
      </Section>
    </div>
  );
}
