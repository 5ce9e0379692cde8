/** The last lines of the log of the gateway that answers. Secrets are removed from them. The newest line is first. */

import { t } from "../app/i18n";
import { query } from "../app/router";
import { useList } from "../kit/load";
import { Head, useRepeat, when } from "../kit/parts";
import { Table } from "../kit/table";
import { answeredBy } from "./gateways";
import { LOG_LEVELS, type LogLine } from "./model";
import { Tag } from "./values";

const KINDS: Readonly<Record<string, "" | "warn" | "alarm">> = { warning: "warn", error: "alarm", critical: "alarm" };

export function Logs() {
  const level = query.value.get("level") ?? undefined;
  const list = useList<LogLine>("/logs", { limit: undefined, level });
  useRepeat(list.reload, 5);
  const lines = list.data && list.data.map((line, number) => ({ ...line, number })).reverse();
  return (
    <>
      <Head title={t("console.logs.title")} about={[t("console.logs.about"), answeredBy(list.gateway)].filter(Boolean).join(" ")} />
      <Table
        label={t("console.logs.title")}
        list={{ ...list, data: lines }}
        id={({ number }) => String(number)}
        search
        filters={[{ name: "level", label: t("console.logs.level"), options: LOG_LEVELS.map((one) => [one, one] as const) }]}
        columns={[
          { title: t("console.orders.queued"), value: ({ at }) => at, cell: ({ at }) => <span title={at}>{when(at)}</span> },
          { title: t("console.logs.level"), value: (line) => line.level, cell: (line) => <Tag group="level" value={line.level} kind={KINDS[line.level] ?? ""} /> },
          { title: t("console.logs.text"), value: ({ text }) => text, cell: ({ text }) => <code class="log-line">{text}</code> },
        ]}
        empty={t("console.logs.none")}
      />
    </>
  );
}
