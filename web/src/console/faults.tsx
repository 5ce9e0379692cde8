/** Injected faults of a plant or of one module: for tests of applications, also on real devices. */

import { api } from "../app/api";
import { t } from "../app/i18n";
import { Button } from "../parts/button";
import { number, text, type Values } from "../kit/form";
import { MANAGE, useList } from "../kit/load";
import { FormButton, Section, when } from "../kit/parts";
import { Table } from "../kit/table";
import { FAULTS, type Fault } from "./model";
import { valueWords } from "./values";

/** With `module`, only faults of this module. */
export function Faults({ plant, module }: { plant: string; module?: string }) {
  const list = useList<Fault>(`/plants/${plant}/faults`);
  const path = `${MANAGE}/plants/${plant}/faults`;
  const shown = module && list.data ? list.data.filter(({ moduleId }) => moduleId === module) : list.data;
  const inject = async (values: Values): Promise<void> => {
    const body = { fault: values.fault, moduleId: module ?? null, value: text(values, "value"), seconds: number(values, "seconds") };
    await api.post(path, body);
    await list.reload();
  };
  const clear = ({ fault, moduleId }: Fault): Promise<void> => api.delete(path, { query: { fault, moduleId: moduleId ?? undefined } }).then(list.reload);
  return (
    <Section
      title={t("console.faults.title")}
      about={t("console.faults.about")}
      actions={
        <FormButton
          label={t("console.faults.inject")}
          look="danger"
          fields={[
            { kind: "choice", name: "fault", label: t("console.faults.fault"), value: "offline", options: FAULTS.map((fault) => [fault, valueWords("fault", fault)] as const) },
            { kind: "text", name: "value", label: t("console.faults.value"), hint: t("console.faults.value_about") },
            { kind: "text", name: "seconds", label: t("console.faults.seconds"), hint: t("console.faults.seconds_about"), type: "number", min: 1, value: "60" },
          ]}
          onSubmit={inject}
        />
      }
    >
      <Table
        label={t("console.faults.title")}
        list={{ ...list, data: shown }}
        id={({ moduleId, fault }) => `${moduleId} ${fault}`}
        columns={[
          { title: t("console.faults.fault"), value: ({ fault }) => valueWords("fault", fault) },
          { title: t("console.faults.value"), value: ({ value }) => value },
          { title: t("console.modules.module"), value: ({ moduleId }) => moduleId ?? t("console.faults.whole"), cell: ({ moduleId }) => (moduleId ? <a href={`/console/plants/${plant}/modules/${moduleId}`}><code>{moduleId}</code></a> : t("console.faults.whole")) },
          { title: t("console.plants.until"), value: ({ until }) => until, cell: ({ until }) => when(until) || t("console.faults.until_cleared") },
        ]}
        actions={(fault) => <Button onClick={() => clear(fault)}>{t("console.faults.clear")}</Button>}
        empty={t("console.faults.none")}
      />
    </Section>
  );
}
