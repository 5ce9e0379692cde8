/** One person: the account, the logins, and the access that the person has and gave. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { LANGUAGES, t } from "../app/i18n";
import { loginOf } from "../app/login_name";
import { go } from "../app/router";
import { Button } from "../parts/button";
import { toast } from "../parts/toast";
import { text, type Values } from "../kit/form";
import { MANAGE, useList } from "../kit/load";
import { ConfirmButton, Facts, FormButton, Head, SecretDialog, Section, when, type Secret } from "../kit/parts";
import { Table } from "../kit/table";
import { Show, useLoad } from "../parts/loaded";
import { grantColumns, useClientNames } from "./grants";
import { type ExternalAccount, type Grant, type Link, type Passkey, type Plant, type Session, STANDINGS, type User } from "./model";
import { linkSecret, showLinkField, UserTags } from "./people";
import { valueWords } from "./values";

export function PersonPage({ id }: { id: string }) {
  const loaded = useLoad(id, () => api.get<User>(`${MANAGE}/users/${id}`));
  return (
    <Show of={loaded}>
      {(user) => (
        <>
          <Head title={user.name || loginOf(user.email)} above={[["/console/people", t("console.people.title")]]} about={<UserTags user={user} />}>
            <Change user={user} onChanged={loaded.reload} />
            <PasswordLink user={user} />
            <Delete user={user} />
          </Head>
          <Facts
            facts={[
              [t("console.email"), loginOf(user.email)],
              [t("console.people.language"), languageName(user.language)],
              [t("console.people.terms"), user.termsVersion],
              ["ID", <code>{user.id}</code>],
            ]}
          />
          <WaysIn user={user} onChanged={loaded.reload} />
          <Grants path={`/users/${id}`} />
          <PlantsOfUser path={`/users/${id}`} />
        </>
      )}
    </Show>
  );
}

function languageName(code: string | null): string {
  return (Object.entries(LANGUAGES).find(([one]) => one === code) ?? ["", t("console.people.browser_language")])[1];
}

function Change({ user, onChanged }: { user: User; onChanged: () => Promise<void> }) {
  const save = async (values: Values): Promise<void> => {
    const wanted = { email: text(values, "email"), name: text(values, "name"), standing: values.standing, operator: values.operator, language: values.language || null };
    const before: Readonly<Record<string, unknown>> = { ...user };
    const changed = Object.entries(wanted).filter(([name, value]) => value !== before[name]);
    if (changed.length) await api.patch(`${MANAGE}/users/${user.id}`, Object.fromEntries(changed));
    await onChanged();
  };
  return (
    <FormButton
      label={t("console.change")}
      title={t("console.people.change")}
      submit={t("console.save")}
      fields={[
        { kind: "text", name: "email", label: t("console.email"), type: "email", required: true, value: user.email },
        { kind: "text", name: "name", label: t("console.name"), value: user.name },
        { kind: "choice", name: "language", label: t("console.people.language"), value: user.language ?? "", options: [["", t("console.people.browser_language")], ...Object.entries(LANGUAGES)] },
        { kind: "choice", name: "standing", label: t("console.people.standing"), value: user.standing, options: STANDINGS.map((one) => [one, valueWords("standing", one)] as const) },
        { kind: "switch", name: "operator", label: t("console.people.operator"), hint: t("console.people.operator_about"), value: user.operator },
      ]}
      onSubmit={save}
    />
  );
}

function PasswordLink({ user }: { user: User }) {
  const [secret, setSecret] = useState<Secret | null>(null);
  const issue = async (values: Values): Promise<void> => {
    const link = await api.post<Link>(`${MANAGE}/users/${user.id}/password-link`, { showLink: values.showLink === true });
    setSecret(linkSecret(link));
    if (link.mailed) toast(t("console.people.link_mailed", { email: user.email }));
  };
  return (
    <>
      <FormButton label={t("console.people.new_link")} about={t("console.people.new_link_about")} fields={[showLinkField()]} onSubmit={issue} />
      {secret && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </>
  );
}

function Delete({ user }: { user: User }) {
  const remove = async (): Promise<void> => {
    await api.delete(`${MANAGE}/users/${user.id}`);
    go("/console/people");
  };
  return <ConfirmButton label={t("console.delete")} question={t("console.people.delete_about", { name: user.name || loginOf(user.email) })} onConfirm={remove} />;
}

function WaysIn({ user, onChanged }: { user: User; onChanged: () => Promise<void> }) {
  const path = `/users/${user.id}`;
  const sessions = useList<Session>(`${path}/sessions`);
  const passkeys = useList<Passkey>(`${path}/passkeys`);
  const accounts = useList<ExternalAccount>(`${path}/external-accounts`);
  return (
    <>
      <Section
        title={t("console.people.sessions")}
        actions={sessions.data?.length ? <ConfirmButton label={t("console.people.end_sessions")} question={t("console.people.end_sessions_about")} onConfirm={() => api.delete(`${MANAGE}${path}/sessions`).then(sessions.reload)} /> : null}
      >
        <Table
          label={t("console.people.sessions")}
          list={sessions}
          id={({ id }) => id}
          columns={[
            { title: t("console.people.browser"), value: browserOf, cell: (session) => <span title={session.agent}>{browserOf(session)}</span> },
            { title: t("console.address"), value: ({ address }) => address },
            { title: t("console.people.since"), value: ({ createdAt }) => createdAt, cell: ({ createdAt }) => when(createdAt) },
            { title: t("console.people.last_used"), value: ({ seenAt }) => seenAt, cell: ({ seenAt }) => when(seenAt) },
          ]}
          empty={t("console.people.no_sessions")}
        />
      </Section>
      <Section
        title={t("console.people.passkeys")}
        actions={user.secondFactor ? <ConfirmButton label={t("console.people.reset_factor")} question={t("console.people.reset_factor_about")} onConfirm={() => api.delete(`${MANAGE}${path}/second-factor`).then(() => Promise.all([passkeys.reload(), onChanged()]))} /> : null}
      >
        <Table
          label={t("console.people.passkeys")}
          list={passkeys}
          id={({ id }) => id}
          columns={[
            { title: t("console.name"), value: ({ name }) => name },
            { title: t("console.people.since"), value: ({ createdAt }) => createdAt, cell: ({ createdAt }) => when(createdAt) },
            { title: t("console.people.last_used"), value: ({ usedAt }) => usedAt, cell: ({ usedAt }) => when(usedAt) || "–" },
          ]}
          actions={({ id }) => <Button look="quiet" onClick={() => api.delete(`${MANAGE}${path}/passkeys/${id}`).then(passkeys.reload)}>{t("console.remove")}</Button>}
          empty={t("console.people.no_passkeys")}
        />
      </Section>
      {accounts.data && accounts.data.length > 0 && (
        <Section
          title={t("console.people.accounts")}
          actions={<ConfirmButton label={t("console.people.unbind")} question={t("console.people.unbind_about")} onConfirm={() => api.delete(`${MANAGE}${path}/external-accounts`).then(accounts.reload)} />}
        >
          <Table
            label={t("console.people.accounts")}
            list={accounts}
            id={({ issuer, subject }) => `${issuer} ${subject}`}
            columns={[
              { title: t("console.people.issuer"), value: ({ issuer }) => issuer },
              { title: t("console.people.subject"), value: ({ subject }) => subject },
              { title: t("console.people.since"), value: ({ boundAt }) => boundAt, cell: ({ boundAt }) => when(boundAt) },
            ]}
            empty=""
          />
        </Section>
      )}
    </>
  );
}

function browserOf({ browser, system }: Session): string {
  return browser && system ? t("console.people.browser_on", { browser, system }) : browser || system || t("console.people.unknown_browser");
}

function Grants({ path }: { path: string }) {
  const grants = useList<Grant>(`${path}/grants`);
  const names = useClientNames();
  const nameOf = ({ clientId }: Grant): string => names.get(clientId) || clientId;
  return (
    <Section
      title={t("console.people.grants")}
      actions={grants.data?.length ? <ConfirmButton label={t("console.people.revoke_all")} question={t("console.people.revoke_all_about")} onConfirm={() => api.delete(`${MANAGE}${path}/grants`).then(grants.reload)} /> : null}
    >
      <Table
        label={t("console.people.grants")}
        list={grants}
        id={({ id }) => id}
        columns={grantColumns<Grant>({ title: t("console.application"), value: nameOf, cell: (grant) => <a href={`/console/applications/${encodeURIComponent(grant.clientId)}`}>{nameOf(grant)}</a> })}
        actions={({ id }) => <Button look="quiet" onClick={() => api.delete(`${MANAGE}${path}/grants/${id}`).then(grants.reload)}>{t("console.revoke")}</Button>}
        empty={t("console.people.no_grants")}
      />
    </Section>
  );
}

function PlantsOfUser({ path }: { path: string }) {
  const plants = useList<Plant>(`${path}/plants`);
  return (
    <Section title={t("console.plants.title")}>
      <Table
        label={t("console.plants.title")}
        list={plants}
        id={({ id }) => id}
        href={({ id }) => `/console/plants/${id}`}
        columns={[
          { title: t("console.name"), value: ({ name }) => name },
          { title: t("console.plants.owner"), value: ({ owner }) => owner.email },
        ]}
        empty={t("console.people.no_plants")}
      />
    </Section>
  );
}
