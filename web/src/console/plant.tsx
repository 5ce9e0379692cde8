/** One plant: its modules, its people, and the faults that are injected. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { t } from "../app/i18n";
import { Button } from "../parts/button";
import { toast } from "../parts/toast";
import { Faults } from "./faults";
import { text, type Values } from "../kit/form";
import { MANAGE, useList, useLoad, type Loaded } from "../kit/load";
import { ConfirmButton, FormButton, Head, SecretDialog, Section, Show, useRepeat, when, type Secret } from "../kit/parts";
import { Table } from "../kit/table";
import { KINDS, type Link, type Module, type Plant } from "./model";
import { linkSecret } from "./people";
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
          <Members plant={plant} loaded={loaded} />
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
          { label: t("console.modules.kind"), options: KINDS.map((kind) => [kind, valueWords("kind", kind)] as const), holds: (module, chosen) => module.kind === chosen },
          {
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

interface Person {
  readonly email: string;
  readonly role: "owner" | "member" | "invited";
  readonly path: string;
  readonly until: string | null;
}

function Members({ plant, loaded }: { plant: Plant; loaded: Loaded<Plant> }) {
  const [secret, setSecret] = useState<Secret | null>(null);
  const path = `${MANAGE}/plants/${plant.id}`;
  const people: readonly Person[] = [
    { email: plant.owner.email, role: "owner", path: "", until: null },
    ...plant.allowed.map(({ userId, email, limits }) => ({ email, role: "member" as const, path: `allowed/${userId}`, until: limits?.validUntil ?? null })),
    ...plant.invited.map((email) => ({ email, role: "invited" as const, path: `invitations/${encodeURIComponent(email)}`, until: null })),
  ];
  const invite = async (values: Values): Promise<void> => {
    const { link } = await api.post<{ link: Link | null }>(`${path}/invitations`, { email: text(values, "email") });
    setSecret(link && linkSecret(link));
    if (link?.mailed) toast(t("console.people.link_mailed", { email: text(values, "email") }));
    await loaded.reload();
  };
  return (
    <Section
      title={t("console.people.title")}
      actions={
        <FormButton
          label={t("console.plants.invite")}
          about={t("console.plants.invite_about")}
          icon="add"
          fields={[{ kind: "text", name: "email", label: t("console.email"), type: "email", required: true }]}
          onSubmit={invite}
        />
      }
    >
      <Table
        label={t("console.people.title")}
        list={{ data: people, problem: "", reload: loaded.reload, more: null }}
        id={({ email, role }) => `${role} ${email}`}
        columns={[
          { title: t("console.email"), value: ({ email }) => email },
          { title: t("console.plants.role"), value: ({ role }) => valueWords("role", role) },
          { title: t("console.plants.until"), value: ({ until }) => until, cell: ({ until }) => when(until) || "–" },
        ]}
        actions={({ path: which, email }) =>
          which && <ConfirmButton label={t("console.plants.withdraw")} question={t("console.plants.withdraw_about", { email })} onConfirm={() => api.delete(`${path}/${which}`).then(loaded.reload)} />
        }
        empty=""
      />
      {secret && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </Section>
  );
}
