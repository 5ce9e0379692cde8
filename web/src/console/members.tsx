/** The people of a plant: its owner, its members and the invited people, each with limits. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { count, t } from "../app/i18n";
import type { Limits } from "../app/limits";
import { toLocal } from "../app/local_time";
import { useLoad } from "../parts/loaded";
import { toast } from "../parts/toast";
import { lines, text, time, type FormField, type Values } from "../kit/form";
import { MANAGE } from "../kit/load";
import { ConfirmButton, FormButton, SecretDialog, Section, when, type Secret } from "../kit/parts";
import { Table } from "../kit/table";
import type { Link, Plant } from "./model";
import { linkSecret } from "./people";
import { readRooms, type Room } from "./rooms";
import { valueWords } from "./values";

interface Person {
  readonly email: string;
  readonly role: "owner" | "member" | "invited";
  readonly path: string;
  readonly limits: Limits | null;
}

function peopleOf({ owner, allowed, invitations }: Plant): readonly Person[] {
  return [
    { email: owner.email, role: "owner", path: "", limits: null },
    ...allowed.map(({ userId, email, limits }) => ({ email, role: "member" as const, path: `allowed/${userId}`, limits })),
    ...invitations.map(({ email, limits }) => ({ email, role: "invited" as const, path: `invitations/${encodeURIComponent(email)}`, limits })),
  ];
}

function limitFields(rooms: readonly Room[], limits: Limits | null, values: Values): readonly FormField[] {
  const isLimited = countPlaces(limits) > 0;
  // Floors and modules are not in the form. They limit the person without an ambient, too.
  const required = limits?.floors.length || limits?.modules.length ? undefined : t("console.plants.no_rooms");
  const ambients: FormField = { kind: "choices", name: "ambients", label: t("console.plants.rooms"), required, value: limits?.ambients ?? [], options: rooms.map(({ id, name }) => [id, name] as const) };
  return [
    { kind: "choice", name: "access", label: t("console.plants.access"), value: isLimited ? "some" : "whole", options: [["whole", t("console.plants.whole")], ["some", t("console.plants.only_rooms")]] },
    ...((values.access ?? (isLimited ? "some" : "whole")) === "some" ? [ambients] : []),
    { kind: "text", name: "validFrom", label: t("console.plants.from"), type: "datetime-local", value: toLocal(limits?.validFrom) },
    { kind: "text", name: "validUntil", label: t("console.plants.until"), hint: t("console.plants.until_about"), type: "datetime-local", value: toLocal(limits?.validUntil) },
  ];
}

/** The limits of the form. Floors and modules cannot be chosen in it: they stay as they are, until the whole plant is chosen. */
function limitsOf(values: Values, before: Limits | null): object | null {
  const isLimited = text(values, "access") === "some";
  const limits = {
    floors: (isLimited && before?.floors) || [],
    ambients: lines(values, "ambients"),
    modules: (isLimited && before?.modules) || [],
    validFrom: time(values, "validFrom"),
    validUntil: time(values, "validUntil"),
  };
  return Object.values(limits).some((value) => (Array.isArray(value) ? value.length : value)) ? limits : null;
}

function countPlaces(limits: Limits | null): number {
  return limits ? limits.floors.length + limits.ambients.length + limits.modules.length : 0;
}

function placeWords(rooms: readonly Room[], limits: Limits | null): string {
  const places = countPlaces(limits);
  if (!limits || !places) return t("common.all");
  const names = limits.ambients.map((id) => rooms.find((room) => room.id === id)?.name ?? id);
  const others = places - limits.ambients.length;
  return [...names, ...(others ? [count("console.plants.other_places", others)] : [])].join(", ");
}

export function Members({ plant, onChanged }: { plant: Plant; onChanged: () => Promise<void> }) {
  const [secret, setSecret] = useState<Secret | null>(null);
  const rooms = useLoad(`rooms ${plant.id}`, () => readRooms(plant.id)).data ?? [];
  const path = `${MANAGE}/plants/${plant.id}`;
  const invite = async (values: Values): Promise<void> => {
    const email = text(values, "email");
    const { link } = await api.post<{ link: Link | null }>(`${path}/invitations`, { email, limits: limitsOf(values, null) });
    setSecret(link && linkSecret(link));
    if (link?.mailed) toast(t("console.people.link_mailed", { email }));
    await onChanged();
  };
  const actions = ({ path: which, email, limits }: Person) =>
    which && (
      <span class="buttons-in-row">
        <FormButton
          label={t("console.plants.limits")}
          title={t("console.plants.limits_of", { email })}
          submit={t("console.save")}
          look="quiet"
          fields={(values) => limitFields(rooms, limits, values)}
          onSubmit={(values) => api.patch(`${path}/${which}`, { limits: limitsOf(values, limits) }).then(onChanged)}
        />
        <ConfirmButton label={t("console.plants.withdraw")} question={t("console.plants.withdraw_about", { email })} onConfirm={() => api.delete(`${path}/${which}`).then(onChanged)} />
      </span>
    );
  return (
    <Section
      title={t("console.people.title")}
      actions={
        <FormButton
          label={t("console.plants.invite")}
          about={t("console.plants.invite_about")}
          icon="add"
          fields={(values) => [{ kind: "text", name: "email", label: t("console.email"), type: "email", required: true }, ...limitFields(rooms, null, values)]}
          onSubmit={invite}
        />
      }
    >
      <Table
        label={t("console.people.title")}
        list={{ data: peopleOf(plant) }}
        id={({ email, role }) => `${role} ${email}`}
        columns={[
          { title: t("console.email"), value: ({ email }) => email },
          { title: t("console.plants.role"), value: ({ role }) => valueWords("role", role) },
          { title: t("console.plants.rooms"), value: ({ limits }) => placeWords(rooms, limits) },
          { title: t("console.plants.from"), value: ({ limits }) => limits?.validFrom ?? null, cell: ({ limits }) => when(limits?.validFrom) || "–" },
          { title: t("console.plants.until"), value: ({ limits }) => limits?.validUntil ?? null, cell: ({ limits }) => when(limits?.validUntil) || "–" },
        ]}
        actions={actions}
        empty=""
      />
      {secret && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </Section>
  );
}
