/** Commands to modules, their life and their results. */

import { api } from "../app/api";
import { t } from "../app/i18n";
import { loginOf } from "../app/login_name";
import { query } from "../app/router";
import { MANAGE, useList, type LoadedList } from "../kit/load";
import { Head, useRepeat, when } from "../kit/parts";
import type { Filter } from "../kit/filters";
import { Table, type Column } from "../kit/table";
import { useLoad } from "../parts/loaded";
import { ORDER_STATES, type Order, type User } from "./model";
import { ModuleLink, placeText } from "./module_link";
import { stateText } from "./state";
import { Tag, valueWords } from "./values";

const REFRESH = 5;

export function Orders() {
  const state = query.value.get("state") ?? undefined;
  const orders = useList<Order>("/orders", { names: true, ...(state === "open" ? { open: true } : { state }) });
  useRepeat(orders.reload, REFRESH);
  return (
    <>
      <Head title={t("console.orders.title")} about={t("console.orders.about")} />
      <OrderTable
        list={orders}
        filters={[{ name: "state", label: t("console.state"), options: [["open", t("console.overview.open")], ...ORDER_STATES.map((one) => [one, valueWords("orderstate", one)] as const)] }]}
        first={[{ title: t("console.modules.module"), value: placeText, cell: (order) => <ModuleLink place={order} /> }]}
        empty={t("console.orders.none_at_all")}
      />
    </>
  );
}

/** The orders of one module. `reload` is also called by the page, after a command. */
export function useOrders(plantId: string, moduleId: string): LoadedList<Order> {
  const orders = useList<Order>("/orders", { plantId, moduleId });
  useRepeat(orders.reload, REFRESH);
  return orders;
}

interface OrderTableProps {
  readonly list: LoadedList<Order>;
  readonly empty: string;
  readonly first?: readonly Column<Order>[];
  readonly filters?: readonly Filter<Order>[];
}

export function OrderTable({ list, empty, first = [], filters = [] }: OrderTableProps) {
  return (
    <Table
      label={t("console.orders.title")}
      list={list}
      id={(order) => order.id}
      filters={filters}
      columns={[
        ...first,
        { title: t("console.orders.command"), value: ({ command }) => `${valueWords("do", String(command.do))} ${stateText(command)}`.trim() },
        { title: t("console.state"), value: ({ state, problem }) => `${valueWords("orderstate", state)} ${problem}`, cell: (order) => <OrderEnd order={order} /> },
        { title: t("console.orders.queued"), value: ({ queuedAt }) => queuedAt, cell: ({ queuedAt }) => when(queuedAt) },
        { title: t("console.orders.took"), value: ({ queuedAt, endedAt }) => since(queuedAt, endedAt), cell: (order) => <Life order={order} /> },
        { title: t("console.orders.person"), value: ({ userId }) => userId, cell: ({ userId }) => (userId ? <Sender id={userId} /> : "–") },
      ]}
      empty={empty}
    />
  );
}

/** The names of people by their id, so that the rows of a table ask for each person once. */
const names = new Map<string, Promise<string>>();

function nameOf(id: string): Promise<string> {
  const known = names.get(id) ?? api.get<User>(`${MANAGE}/users/${id}`).then(({ name, email }) => name || loginOf(email));
  names.set(id, known);
  known.catch(() => names.delete(id));
  return known;
}

function Sender({ id }: { id: string }) {
  const { data } = useLoad(id, () => nameOf(id));
  return <a href={`/console/people/${id}`}>{data ?? t("console.orders.person")}</a>;
}

function OrderEnd({ order: { state, problem } }: { order: Order }) {
  const kind = state === "confirmed" ? "" : state === "queued" || state === "sent" ? "warn" : "alarm";
  return (
    <span class="tags">
      <Tag group="orderstate" value={state} kind={kind} />
      {problem}
    </span>
  );
}

/** How long the order took, and when it was sent to the device, both from the request on. */
function Life({ order: { queuedAt, sentAt, endedAt, deadline } }: { order: Order }) {
  const total = since(queuedAt, endedAt);
  const sent = since(queuedAt, sentAt);
  return (
    <>
      {total === null ? t("console.orders.until", { time: when(deadline) }) : milliseconds(total)}
      {sent !== null && <span class="soft detail">{t("console.orders.sent_after", { time: milliseconds(sent) })}</span>}
    </>
  );
}

function since(from: string, to: string | null): number | null {
  return to ? Date.parse(to) - Date.parse(from) : null;
}

function milliseconds(number: number): string {
  return t("console.orders.milliseconds", { number });
}
