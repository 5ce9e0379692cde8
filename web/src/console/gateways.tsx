/** The gateways of the cluster, on the overview. A gateway that is not a member of a cluster shows nothing. */

import { api } from "../app/api";
import { formatNumber, t } from "../app/i18n";
import { MANAGE } from "../kit/load";
import { Section, useRepeat, when } from "../kit/parts";
import { Table } from "../kit/table";
import { useLoad } from "../parts/loaded";
import { Tag, valueWords } from "./values";

const REFRESH = 5;
const SHARDS = 1024;

interface Gateway {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly version: string;
  readonly startedAt: string;
  readonly leaseLeft: number;
  readonly shards: number;
  readonly leaving: boolean;
  readonly messages: "connected" | "lost" | "cut off";
  readonly answering: boolean;
}

interface Cluster {
  readonly name: string | null;
  readonly gateways: readonly Gateway[];
  readonly knowledgeAge: number | null;
  readonly natsServer: string | null;
  readonly natsProblem: string | null;
}

export function Gateways() {
  const loaded = useLoad("cluster", () => api.get<Cluster>(`${MANAGE}/cluster`));
  useRepeat(loaded.reload, REFRESH);
  if (!loaded.data?.name) return null;
  return (
    <div id="gateways">
      <Section title={t("console.gateways.title")} about={describe(loaded.data)}>
        <Table
          label={t("console.gateways.title")}
          list={{ ...loaded, data: loaded.data.gateways }}
          id={({ id }) => id}
          columns={[
            { title: t("console.name"), value: ({ name }) => name, cell: nameOf },
            { title: t("console.state"), value: (gateway) => valueWords("gatewaystate", stateOf(gateway)), cell: (gateway) => <Tag group="gatewaystate" value={stateOf(gateway)} kind={KINDS[stateOf(gateway)] ?? ""} /> },
            { title: t("console.gateways.shards"), value: ({ shards }) => shards, cell: ({ shards }) => `${formatNumber(shards)} / ${formatNumber(SHARDS)}` },
            { title: t("console.gateways.lease"), value: ({ leaseLeft }) => leaseLeft, cell: ({ leaseLeft }) => `${formatNumber(leaseLeft, { maximumFractionDigits: 1 })} s` },
            { title: t("console.people.since"), value: ({ startedAt }) => startedAt, cell: ({ startedAt }) => when(startedAt) },
            { title: t("console.gateways.version"), value: ({ version }) => version },
          ]}
          empty={t("console.gateways.none")}
        />
      </Section>
    </div>
  );
}

/** Which gateway of the cluster the shown data belongs to. Each request can be answered by another gateway. */
export function answeredBy(gateway: string | null | undefined): string {
  return gateway ? t("console.gateways.answered_by", { name: gateway }) : "";
}

const KINDS: Readonly<Record<string, "warn" | "alarm">> = { leaving: "warn", lost: "warn", "cut off": "alarm" };

function stateOf({ leaving, messages }: Gateway): string {
  return leaving ? "leaving" : messages;
}

function nameOf({ name, answering }: Gateway) {
  return (
    <>
      {name} {answering && <span class="tag">{t("console.gateways.answering")}</span>}
    </>
  );
}

function describe({ name, knowledgeAge, natsServer, natsProblem }: Cluster): string {
  const nats = natsProblem ? t("console.gateways.no_nats", { problem: natsProblem }) : t("console.gateways.nats", { server: natsServer ?? "" });
  const age = knowledgeAge === null ? "" : t("console.gateways.age", { seconds: formatNumber(knowledgeAge, { maximumFractionDigits: 1 }) });
  return [t("console.gateways.about", { name: name ?? "" }), age, nats].filter(Boolean).join(" ");
}
