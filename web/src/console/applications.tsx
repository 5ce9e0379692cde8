/** The registered applications (clients). A secret is shown once, after it was made. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { t } from "../app/i18n";
import { go } from "../app/router";
import { lines, text, type FormField, type Values } from "../kit/form";
import { MANAGE, useList } from "../kit/load";
import { ConfirmButton, Facts, FormButton, Head, SecretDialog, Section, type Secret } from "../kit/parts";
import { Fold } from "../kit/fold";
import { Table } from "../kit/table";
import { Button } from "../parts/button";
import { Show, useLoad } from "../parts/loaded";
import { grantColumns } from "./grants";
import type { Client, ClientGrant } from "./model";

const SCOPES = [
  "plug.read", "plug.write", "topology.read", "scene.launch", "scene.write", "light.read", "light.write", "comfort.read", "comfort.write",
  "audiovideoterminal.read", "safety.read", "home.use", "developer.use", "gateway.manage",
] as const;
const GRANTS = ["authorization_code", "refresh_token", "implicit"] as const;

const pathOf = (id: string): string => `${MANAGE}/clients/${encodeURIComponent(id)}`;
const pageOf = (id: string): string => `/console/applications/${encodeURIComponent(id)}`;

function clientFields(client?: Client): readonly FormField[] {
  return [
    { kind: "text", name: "name", label: t("console.name"), hint: t("console.applications.name_about"), required: true, value: client?.name ?? "" },
    { kind: "lines", name: "redirectUris", label: t("console.applications.redirects"), value: client?.redirectUris ?? [] },
    { kind: "choices", name: "scopes", label: t("console.scopes"), value: client?.scopes ?? [], options: SCOPES },
    { kind: "choices", name: "grants", label: t("console.applications.grants"), value: client?.grants ?? ["authorization_code", "refresh_token"], options: GRANTS },
    { kind: "lines", name: "postLogoutRedirectUris", label: t("console.applications.logout_redirects"), value: client?.postLogoutRedirectUris ?? [] },
    { kind: "lines", name: "origins", label: t("console.applications.origins"), value: client?.origins ?? [] },
    { kind: "switch", name: "accessTokenEverywhere", label: t("console.applications.everywhere"), value: client?.accessTokenEverywhere ?? false },
    { kind: "switch", name: "pkceExempt", label: t("console.applications.no_pkce"), hint: t("console.applications.no_pkce_about"), value: client?.pkceExempt ?? false },
  ];
}

function bodyOf(values: Values): object {
  const lists = ["redirectUris", "scopes", "grants", "postLogoutRedirectUris", "origins"];
  return {
    name: text(values, "name"),
    accessTokenEverywhere: values.accessTokenEverywhere === true,
    pkceExempt: values.pkceExempt === true,
    ...Object.fromEntries(lists.map((name) => [name, lines(values, name)])),
  };
}

function secretOf(value: string): Secret {
  return { title: t("console.applications.secret"), about: t("console.once"), value };
}

export function Applications() {
  const list = useList<Client>("/clients");
  const [created, setCreated] = useState<{ id: string; secret: Secret } | null>(null);
  const create = async (values: Values): Promise<void> => {
    const body = { id: text(values, "id"), confidential: values.confidential === true, ...bodyOf(values) };
    const { client, secret } = await api.post<{ client: Client; secret: string | null }>(`${MANAGE}/clients`, body);
    if (secret) setCreated({ id: client.id, secret: secretOf(secret) });
    else go(pageOf(client.id));
  };
  return (
    <>
      <Head title={t("console.applications.title")} about={t("console.applications.about")}>
        <FormButton
          label={t("console.applications.add")}
          icon="add"
          look="primary"
          fields={[
            { kind: "text", name: "id", label: t("console.applications.id"), hint: t("console.applications.id_about"), required: true },
            { kind: "switch", name: "confidential", label: t("console.applications.confidential"), hint: t("console.applications.confidential_about"), value: true },
            ...clientFields(),
          ]}
          onSubmit={create}
        />
      </Head>
      <Table
        label={t("console.applications.title")}
        list={list}
        id={({ id }) => id}
        sorted
        href={({ id }) => pageOf(id)}
        columns={[
          { title: t("console.name"), value: ({ name }) => name },
          { title: t("console.applications.id"), value: ({ id }) => id, cell: ({ id }) => <code>{id}</code> },
          { title: t("console.applications.type"), value: typeOf },
          { title: t("console.scopes"), value: ({ scopes }) => scopes.join(" "), cell: ({ scopes }) => <Fold words={scopes.join(" ")} /> },
        ]}
        empty={t("console.applications.none")}
      />
      {created && <SecretDialog secret={created.secret} onClose={() => go(pageOf(created.id))} />}
    </>
  );
}

function typeOf({ confidential }: Client): string {
  return t(confidential ? "console.applications.confidential_short" : "console.applications.public");
}

export function ApplicationPage({ id }: { id: string }) {
  const loaded = useLoad(id, () => api.get<Client>(pathOf(id)));
  const [secret, setSecret] = useState<Secret | null>(null);
  const rotate = async (): Promise<void> => setSecret(secretOf((await api.post<{ secret: string }>(`${pathOf(id)}/secret`)).secret));
  const change = async (values: Values): Promise<void> => {
    await api.patch(pathOf(id), bodyOf(values));
    await loaded.reload();
  };
  const remove = async (): Promise<void> => {
    await api.delete(pathOf(id));
    go("/console/applications");
  };
  return (
    <Show of={loaded}>
      {(client) => (
        <>
          <Head title={client.name} above={[["/console/applications", t("console.applications.title")]]} about={typeOf(client)}>
            <FormButton label={t("console.change")} title={t("console.applications.change")} submit={t("console.save")} fields={clientFields(client)} onSubmit={change} />
            {client.confidential && <ConfirmButton look="plain" label={t("console.applications.rotate")} question={t("console.applications.rotate_about")} onConfirm={rotate} />}
            <ConfirmButton label={t("console.delete")} question={t("console.applications.delete_about", { name: client.name })} onConfirm={remove} />
          </Head>
          <Facts
            facts={[
              [t("console.applications.id"), <code>{client.id}</code>],
              [t("console.applications.redirects"), <Codes of={client.redirectUris} />],
              [t("console.scopes"), <Codes of={client.scopes} />],
              [t("console.applications.grants"), <Codes of={client.grants} />],
              [t("console.applications.logout_redirects"), <Codes of={client.postLogoutRedirectUris} />],
              [t("console.applications.origins"), <Codes of={client.origins} />],
              [t("console.applications.everywhere"), yesNo(client.accessTokenEverywhere)],
              [t("console.applications.no_pkce"), yesNo(client.pkceExempt)],
            ]}
          />
          <Consents id={client.id} />
          {secret && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
        </>
      )}
    </Show>
  );
}

/** The people who let the application in. */
function Consents({ id }: { id: string }) {
  const grants = useList<ClientGrant>(`/clients/${encodeURIComponent(id)}/grants`);
  return (
    <Section title={t("console.applications.consents")} about={t("console.applications.consents_about")}>
      <Table
        label={t("console.applications.consents")}
        list={grants}
        id={(grant) => grant.id}
        columns={grantColumns<ClientGrant>({ title: t("console.orders.person"), value: ({ email }) => email, cell: ({ email, userId }) => <a href={`/console/people/${userId}`}>{email}</a> })}
        actions={(grant) => <Button look="quiet" onClick={() => api.delete(`${MANAGE}/users/${grant.userId}/grants/${grant.id}`).then(grants.reload)}>{t("console.revoke")}</Button>}
        empty={t("console.applications.no_consents")}
      />
    </Section>
  );
}

function Codes({ of }: { of: readonly string[] }) {
  return of.length ? <span class="codes">{of.map((one) => <code key={one}>{one}</code>)}</span> : <>–</>;
}

function yesNo(is: boolean): string {
  return t(is ? "console.yes" : "console.no");
}
