/** The people of a plant: its owner, its members and the invited people, each with limits. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { formatTime, t } from "../app/i18n";
import { loginOf } from "../app/login_name";
import type { Limits } from "../app/limits";
import { knownZone, OWN_ZONE, toInstant, toLocal } from "../app/local_time";
import { useLoad } from "../parts/loaded";
import { toast } from "../parts/toast";
import { lines, text, type FormField, type Values } from "../kit/form";
import { MANAGE, readAll } from "../kit/load";
import { ConfirmButton, FormButton, SecretDialog, Section, type Secret } from "../kit/parts";
import { Table } from "../kit/table";
import type { Link, Module, Plant } from "./model";
import { linkSecret, showLinkField } from "./people";
import { readContent, roomsOf, type Content } from "./rooms";
import { valueWords } from "./values";

interface Person {
  readonly email: string;
  /** Null if the invited person has no account yet. */
  readonly userId: string | null;
  readonly role: "owner" | "member" | "invited";
  readonly path: string;
  readonly limits: Limits | null;
}

function peopleOf({ owner, allowed, invitations }: Plant): readonly Person[] {
  return [
    { email: owner.email, userId: owner.userId, role: "owner", path: "", limits: null },
    ...allowed.map(({ userId, email, limits }) => ({ email, userId, role: "member" as const, path: `allowed/${userId}`, limits })),
    ...invitations.map(({ email, limits }) => ({ email, userId: null, role: "invited" as const, path: `invitations/${encodeURIComponent(email)}`, limits })),
  ];
}

/** What a person can be limited to. */
interface Places {
  readonly content: Content;
  readonly modules: readonly Module[];
}

/** The id of this section in the page. */
export const PEOPLE = "people";

const NO_PLACES: Places = { content: { floors: [], ambients: [] }, modules: [] };
/** The lists of places in the limits. */
const PLACES = ["floors", "ambients", "modules"] as const;

async function readPlaces(plant: string): Promise<Places> {
  const [content, modules] = await Promise.all([readContent(plant), readAll<Module>(`/plants/${plant}/modules`)]);
  return { content, modules };
}

function limitFields({ content, modules }: Places, zone: string, limits: Limits | null, values: Values): readonly FormField[] {
  const isLimited = PLACES.some((name) => limits?.[name].length);
  const options = {
    floors: content.floors.map(({ id, name }) => [id, name] as const),
    ambients: roomsOf(content).map(({ id, name }) => [id, name] as const),
    modules: modules.map(({ id, name, ambient }) => [id, [name, ambient].filter(Boolean).join(" · ")] as const),
  };
  const chosen = PLACES.flatMap((name) => (name in values ? lines(values, name) : (limits?.[name] ?? [])));
  const places = PLACES.filter((name) => name === "ambients" || options[name].length || limits?.[name].length).map((name): FormField => {
    // One place of any kind is enough. The sentence stands at the ambients, which people choose most often.
    const required = name === "ambients" && !chosen.length ? t("console.plants.no_places") : undefined;
    return { kind: "choices", name, label: t(`console.plants.${name}`), required, value: limits?.[name] ?? [], options: options[name] };
  });
  return [
    { kind: "text", name: "validFrom", label: t("console.plants.from"), type: "datetime-local", value: toLocal(limits?.validFrom, zone) },
    { kind: "text", name: "validUntil", label: t("console.plants.until"), hint: t("console.plants.until_about", { zone }), type: "datetime-local", value: toLocal(limits?.validUntil, zone) },
    // A hotel has many places, so they are the last fields.
    { kind: "choice", name: "access", label: t("console.plants.access"), value: isLimited ? "some" : "whole", options: [["whole", t("console.plants.whole")], ["some", t("console.plants.only_places")]] },
    ...((values.access ?? (isLimited ? "some" : "whole")) === "some" ? places : []),
  ];
}

/** The limits of the form; null if the person may use the whole plant at any time. */
function limitsOf(values: Values, zone: string): object | null {
  const [floors, ambients, modules] = PLACES.map((name) => lines(values, name));
  const limits = { floors, ambients, modules, validFrom: toInstant(text(values, "validFrom"), zone), validUntil: toInstant(text(values, "validUntil"), zone) };
  return Object.values(limits).some((value) => (Array.isArray(value) ? value.length : value)) ? limits : null;
}

function placeWords({ content, modules }: Places, limits: Limits | null): string {
  const ids = PLACES.flatMap((name) => limits?.[name] ?? []);
  const names = new Map([...content.floors, ...roomsOf(content), ...modules].map(({ id, name }) => [id, name]));
  return ids.map((id) => names.get(id) ?? id).join(", ") || t("common.all");
}

export function Members({ plant, onChanged }: { plant: Plant; onChanged: () => Promise<void> }) {
  const [secret, setSecret] = useState<Secret | null>(null);
  const places = useLoad(`places ${plant.id}`, () => readPlaces(plant.id)).data ?? NO_PLACES;
  const zone = knownZone(plant.timeZone) ?? OWN_ZONE;
  const time = (at: string | null | undefined): string => (at ? formatTime(new Date(at), new Date(), zone) : "–");
  const path = `${MANAGE}/plants/${plant.id}`;
  const invite = async (values: Values): Promise<void> => {
    const email = text(values, "email");
    const { link } = await api.post<{ link: Link | null }>(`${path}/invitations`, { email, limits: limitsOf(values, zone), showLink: values.showLink === true });
    setSecret(link && linkSecret(link));
    if (link?.mailed) toast(t("console.people.link_mailed", { email }));
    await onChanged();
  };
  const actions = ({ path: which, email, limits }: Person) =>
    which && (
      <span class="buttons-in-row">
        <FormButton
          label={t("console.plants.limits")}
          title={t("console.plants.limits_of", { email: loginOf(email) })}
          submit={t("console.save")}
          look="quiet"
          fields={(values) => limitFields(places, zone, limits, values)}
          onSubmit={(values) => api.patch(`${path}/${which}`, { limits: limitsOf(values, zone) }).then(onChanged)}
        />
        <ConfirmButton label={t("console.plants.withdraw")} question={t("console.plants.withdraw_about", { email: loginOf(email) })} onConfirm={() => api.delete(`${path}/${which}`).then(onChanged)} />
      </span>
    );
  return (
    <Section
      id={PEOPLE}
      title={t("console.people.title")}
      actions={
        <FormButton
          label={t("console.plants.invite")}
          about={t("console.plants.invite_about")}
          icon="add"
          fields={(values) => [{ kind: "text", name: "email", label: t("console.email"), type: "email", required: true }, showLinkField(), ...limitFields(places, zone, null, values)]}
          onSubmit={invite}
        />
      }
    >
      <Table
        label={t("console.people.title")}
        list={{ data: peopleOf(plant) }}
        id={({ email, role }) => `${role} ${email}`}
        columns={[
          { title: t("console.email"), value: ({ email }) => loginOf(email), cell: ({ email, userId }) => (userId ? <a href={`/console/people/${userId}`}>{loginOf(email)}</a> : loginOf(email)) },
          { title: t("console.plants.role"), value: ({ role }) => valueWords("role", role) },
          { title: t("console.plants.access"), value: ({ limits }) => placeWords(places, limits) },
          { title: t("console.plants.from"), value: ({ limits }) => limits?.validFrom ?? null, cell: ({ limits }) => time(limits?.validFrom) },
          { title: t("console.plants.until"), value: ({ limits }) => limits?.validUntil ?? null, cell: ({ limits }) => time(limits?.validUntil) },
        ]}
        actions={actions}
        empty=""
      />
      {secret && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </Section>
  );
}
