/** Injected faults of a plant or of one module: for tests of applications, also on real devices. */

import { api } from "../app/api";
import { t } from "../app/i18n";
import { Button } from "../parts/button";
import { number, text, type Values } from "../kit/form";
import { MANAGE, useList, type LoadedList } from "../kit/load";
import { ConfirmButton, FormButton, Head, Section, when } from "../kit/parts";
import { Table } from "../kit/table";
import { FAULTS, type Fault } from "./model";
import { ModuleLink, placeText } from "./module_link";
import { valueWords } from "./values";

/** With `module`, only faults of this module. */
export function Faults({ plant, module }: { plant: string; module?: string }) {
  const list = useList<Fault>(`/plants/${plant}/faults`, { names: true });
  const path = `${MANAGE}/plants/${plant}/faults`;
  const shown = module && list.data ? list.data.filter(({ moduleId }) => moduleId === module) : list.data;
  const inject = async (values: Values): Promise<void> => {
    const body = { fault: values.fault, moduleId: module ?? null, value: text(values, "value"), seconds: number(values, "seconds") };
    await api.post(path, body);
    await list.reload();
  };
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
      <FaultTable list={{ ...list, data: shown }} />
    </Section>
  );
}

/** The faults of all plants. */
export function AllFaults() {
  const list = useList<Fault>("/faults", { names: true });
  return (
    <>
      <Head title={t("console.faults.title")} about={t("console.faults.about")}>
        {list.data?.length ? <ConfirmButton label={t("console.faults.clear_all")} question={t("console.faults.clear_all_about")} onConfirm={() => api.delete(`${MANAGE}/faults`).then(list.reload)} /> : null}
      </Head>
      <FaultTable list={list} />
    </>
  );
}

function FaultTable({ list }: { list: LoadedList<Fault> }) {
  const clear = ({ plantId, fault, moduleId }: Fault): Promise<void> => api.delete(`${MANAGE}/plants/${plantId}/faults`, { query: { fault, moduleId: moduleId ?? undefined } }).then(list.reload);
  return (
    <Table
      label={t("console.faults.title")}
      list={list}
      id={({ plantId, moduleId, fault }) => `${plantId} ${moduleId} ${fault}`}
      columns={[
        { title: t("console.faults.fault"), value: ({ fault }) => valueWords("fault", fault) },
        { title: t("console.faults.value"), value: ({ value }) => value },
        { title: t("console.modules.module"), value: placeText, cell: (fault) => <ModuleLink place={fault} /> },
        { title: t("console.plants.until"), value: ({ until }) => until, cell: ({ until }) => when(until) || t("console.faults.until_cleared") },
      ]}
      actions={(fault) => <Button onClick={() => clear(fault)}>{t("console.faults.clear")}</Button>}
      empty={t("console.faults.none")}
    />
  );
}
