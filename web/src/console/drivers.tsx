/** The health of the drivers of the gateway that answers. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { formatNumber, t } from "../app/i18n";
import { MANAGE, useList } from "../kit/load";
import { ConfirmButton, Facts, Head, Section, useRepeat, when } from "../kit/parts";
import { Table } from "../kit/table";
import { Button } from "../parts/button";
import { useLoad } from "../parts/loaded";
import { BrokerForm, CONNECTION } from "./broker_form";
import { answeredBy } from "./gateways";
import type { Driver, DriverFacts } from "./model";
import { Tag, valueWords } from "./values";

export function Drivers() {
  const list = useList<Driver>("/drivers", { limit: undefined });
  useRepeat(list.reload, 5);
  const connections = list.data?.flatMap(({ name, connections: own }) => own.map((one) => ({ ...one, driver: name })));
  return (
    <>
      <Head title={t("console.drivers.title")} about={[t("console.drivers.about"), answeredBy(list.gateway)].filter(Boolean).join(" ")} />
      <Table
        label={t("console.drivers.title")}
        list={list}
        id={({ name }) => name}
        columns={[
          { title: t("console.name"), value: ({ name }) => name },
          { title: t("console.state"), value: ({ condition }) => valueWords("condition", condition), cell: ({ condition }) => <Tag group="condition" value={condition} kind={KINDS[condition]} /> },
          { title: t("console.people.since"), value: ({ since }) => since, cell: ({ since }) => when(since) },
          { title: t("console.plants.title"), value: ({ plants }) => plants, cell: ({ plants }) => formatNumber(plants) },
          { title: t("console.drivers.restarts"), value: ({ restarts }) => restarts },
          { title: t("console.drivers.waiting"), value: ({ waitingReports }) => waitingReports },
          { title: t("console.drivers.stuck"), value: ({ leftBehind }) => leftBehind },
          { title: t("console.drivers.error"), value: ({ lastError }) => lastError, cell: ({ lastError, lastErrorAt }) => (lastError ? `${lastError} (${when(lastErrorAt)})` : "–") },
        ]}
        empty={t("console.drivers.none")}
      />
      <Broker />
      {connections && connections.length > 0 && (
        <Section title={t("console.drivers.connections")}>
          <Table
            label={t("console.drivers.connections")}
            list={{ ...list, data: connections }}
            id={({ driver, name }) => `${driver} ${name}`}
            columns={[
              { title: t("console.name"), value: ({ name }) => name },
              { title: t("console.modules.driver"), value: ({ driver }) => driver },
              { title: t("console.address"), value: ({ address }) => address, cell: ({ address }) => <code>{address}</code> },
              { title: t("console.state"), value: ({ state }) => state, cell: ({ state }) => <Tag group="connection" value={state} kind={state === "lost" ? "alarm" : state === "connected" ? "" : "warn"} /> },
              { title: t("console.people.since"), value: ({ since }) => since, cell: ({ since }) => when(since) || "–" },
              { title: t("console.webhooks.problem"), value: ({ problem }) => problem },
            ]}
            empty=""
          />
        </Section>
      )}
    </>
  );
}

/** The MQTT broker that was set in the console. Brokers in the settings are changed there. */
function Broker() {
  const mqtt = useLoad("mqtt", () => api.get<DriverFacts>(`${MANAGE}/drivers/mqtt`));
  const [open, setOpen] = useState(false);
  if (!mqtt.data?.canSetConnection) return null;
  const { connection } = mqtt.data;
  const connected = async (): Promise<void> => {
    await mqtt.reload();
    setOpen(false);
  };
  const actions = connection && (
    <>
      <Button onClick={() => setOpen(!open)}>{t("console.change")}</Button>
      <ConfirmButton label={t("console.delete")} question={t("console.broker.delete_about")} onConfirm={() => api.delete(CONNECTION).then(mqtt.reload)} />
    </>
  );
  return (
    <Section title={t("console.broker.title")} about={connection ? "" : t("console.broker.none")} actions={actions}>
      {connection && <Facts facts={[[t("console.address"), <code>{connection.url}</code>], [t("console.broker.username"), connection.username]]} />}
      {(open || !connection) && (
        <div class="panel wizard">
          <BrokerForm key={connection?.url} present={connection} onConnected={connected} />
        </div>
      )}
    </Section>
  );
}

const KINDS = { running: "", starting: "warn", down: "alarm", stopped: "warn" } as const;
