/** One plant: its modules, its people, and the faults that are injected. */

import { api } from "../app/api";
import { t } from "../app/i18n";
import { Button } from "../parts/button";
import { Faults } from "./faults";
import { MANAGE, useList } from "../kit/load";
import { ConfirmButton, Head, Section, useRepeat } from "../kit/parts";
import { Table } from "../kit/table";
import { Show, useLoad } from "../parts/loaded";
import { Members } from "./members";
import { KINDS, type Module, type Plant } from "./model";
import { addressOf } from "./plants";
import { stateText } from "./state";
import { Tag, valueWords } from "./values";

export function PlantPage({ id }: { id: string }) {
  const loaded = useLoad(id, () => api.get<Plant>(`${MANAGE}/plants/${id}`));
  const change = (status: Plant["status"]): Promise<void> => api.patch(`${MANAGE}/plants/${id}`, { status }).then(loaded.reload);
  return (
    <Show of={loaded}>
      {(plant) => (
        <>
          <Head
            title={plant.name}
            above={[["/console/plants", t("console.plants.title")]]}
            about={
              <span class="tags">
                <Tag group="planttype" value={plant.type} />
                {plant.status === "removed" && <Tag group="plantstate" value="removed" kind="warn" />}
                {addressOf(plant)}
              </span>
            }
          >
            {plant.status === "active" ? (
              <ConfirmButton label={t("console.plants.remove")} question={t("console.plants.remove_about", { name: plant.name })} onConfirm={() => change("removed")} />
            ) : (
              <Button look="primary" onClick={() => change("active")}>
                {t("console.plants.restore")}
              </Button>
            )}
          </Head>
          <Modules plant={id} />
          <Members plant={plant} onChanged={loaded.reload} />
          <Faults plant={id} />
        </>
      )}
    </Show>
  );
}

function Modules({ plant }: { plant: string }) {
  const list = useList<Module>(`/plants/${plant}/modules`);
  useRepeat(list.reload, 10);
  return (
    <Section title={t("console.modules.title")}>
      <Table
        label={t("console.modules.title")}
        list={list}
        id={({ id }) => id}
        href={({ id }) => `/console/plants/${plant}/modules/${id}`}
        search
        sorted
        filters={[
          { name: "kind", label: t("console.modules.kind"), options: KINDS.map((kind) => [kind, valueWords("kind", kind)] as const), holds: (module, chosen) => module.kind === chosen },
          {
            name: "reachable",
            label: t("console.modules.reachable"),
            options: (["online", "offline"] as const).map((one) => [one, valueWords("reach", one)] as const),
            holds: (module, chosen) => module.reachable === (chosen === "online"),
          },
        ]}
        columns={[
          { title: t("console.name"), value: ({ name }) => name },
          { title: t("console.modules.kind"), value: ({ kind }) => valueWords("kind", kind) },
          { title: t("console.modules.ambient"), value: ({ ambient }) => ambient },
          { title: t("console.state"), value: ({ state }) => stateText(state, 3) },
          { title: t("console.modules.reachable"), value: reachText, cell: (module) => <Reach module={module} /> },
        ]}
        empty={t("console.modules.none")}
      />
    </Section>
  );
}

function reachText({ reachable, absence }: Module): string {
  return reachable ? valueWords("reach", "online") : [valueWords("reach", "offline"), absence && valueWords("absence", absence.why), absence?.evidence].join(" ");
}

export function Reach({ module: { reachable, absence } }: { module: Module }) {
  return (
    <span class="tags">
      <Tag group="reach" value={reachable ? "online" : "offline"} kind={reachable ? "" : "alarm"} />
      {absence && `${valueWords("absence", absence.why)} ${absence.evidence}`}
    </span>
  );
}
