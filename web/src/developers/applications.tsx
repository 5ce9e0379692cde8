/** The applications and keys of the developer. A secret and a key are shown once, after they were made. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { formatNumber, t } from "../app/i18n";
import { lines, text, type FormField, type Values } from "../kit/form";
import type { Listing } from "../kit/load";
import { ConfirmButton, Counted, FormButton, Section, SecretDialog, when, type Secret } from "../kit/parts";
import { Table } from "../kit/table";
import { Button } from "../parts/button";
import { Show, useLoad } from "../parts/loaded";
import { Notice } from "../parts/notice";
import { subscriptionKey } from "./call";
import { LoginPage } from "./login_first";
import { LoginSample } from "./login_sample";

const DEVELOPER = "/developer/v1";

interface SelfService {
  readonly enabled: boolean;
  readonly scopes: readonly string[];
  readonly mostApplications: number;
  readonly mostKeys: number;
  readonly rate: string;
  readonly dailyQuota: number;
}

interface Application {
  readonly id: string;
  readonly name: string;
  readonly confidential: boolean;
  readonly redirectUris: readonly string[];
  readonly origins: readonly string[];
  readonly scopes: readonly string[];
}

interface Key {
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  readonly rate: string | null;
  readonly dailyQuota: number;
  readonly usedToday: number;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

async function listOf<T>(name: string): Promise<readonly T[]> {
  return (await api.get<Listing<T>>(`${DEVELOPER}/${name}`)).items;
}

export function OwnApplications() {
  return (
    <LoginPage page="applications">
      <Own />
    </LoginPage>
  );
}

function Own() {
  const allowed = useLoad("self-service", () => api.get<SelfService>(`${DEVELOPER}/self-service`));
  const [secret, setSecret] = useState<Secret | null>(null);
  return (
    <Show of={allowed}>
      {(selfService) => (
        <>
          {!selfService.enabled && <Notice kind="warn" title={t("developers.applications.not_allowed")} />}
          <Applications allowed={selfService} onSecret={setSecret} />
          <Keys allowed={selfService} onSecret={setSecret} />
          {secret && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
        </>
      )}
    </Show>
  );
}

interface PartProps {
  readonly allowed: SelfService;
  readonly onSecret: (secret: Secret) => void;
}

function fieldsOf(allowed: SelfService, application?: Application): readonly FormField[] {
  return [
    { kind: "text", name: "name", label: t("developers.applications.name"), hint: t("developers.applications.name_about"), required: true, value: application?.name ?? "" },
    { kind: "lines", name: "redirectUris", label: t("developers.applications.redirects"), hint: t("developers.applications.redirects_about"), required: t("developers.applications.no_redirects"), value: application?.redirectUris ?? [] },
    { kind: "choices", name: "scopes", label: t("developers.applications.scopes"), required: t("developers.applications.no_scopes"), value: application?.scopes ?? [], options: allowed.scopes },
    { kind: "lines", name: "origins", label: t("developers.applications.origins"), hint: t("developers.applications.origins_about"), value: application?.origins ?? [] },
  ];
}

function bodyOf(values: Values): object {
  return { name: text(values, "name"), redirectUris: lines(values, "redirectUris"), scopes: lines(values, "scopes"), origins: lines(values, "origins") };
}

function Applications({ allowed, onSecret }: PartProps) {
  const list = useLoad("applications", () => listOf<Application>("applications"));
  const [used, setUsed] = useState("");
  const sample = list.data?.find(({ id }) => id === used);
  const show = (value: string): void => onSecret({ title: t("developers.applications.secret"), about: t("developers.applications.once"), value });
  const create = async (values: Values): Promise<void> => {
    const body = { confidential: values.confidential === true, ...bodyOf(values) };
    const made = await api.post<{ application: Application; secret: string | null }>(`${DEVELOPER}/applications`, body);
    if (made.secret) show(made.secret);
    setUsed(made.application.id);
    await list.reload();
  };
  const add = (
    <FormButton
      label={t("developers.applications.add")}
      icon="add"
      look="primary"
      fields={[...fieldsOf(allowed), { kind: "switch", name: "confidential", label: t("developers.applications.confidential"), hint: t("developers.applications.confidential_about"), value: false }]}
      onSubmit={create}
    />
  );
  const actions = (one: Application) => {
    const path = `${DEVELOPER}/applications/${encodeURIComponent(one.id)}`;
    const rotate = async (): Promise<void> => show((await api.post<{ secret: string }>(`${path}/secret`)).secret);
    return (
      <span class="row-buttons">
        {one.redirectUris.length > 0 && (
          <Button label={t("developers.applications.use_named", { name: one.name })} onClick={() => setUsed(one.id)}>
            {t("developers.applications.use")}
          </Button>
        )}
        {allowed.enabled && <FormButton label={t("developers.applications.change")} title={one.name} fields={fieldsOf(allowed, one)} onSubmit={(values) => api.patch(path, bodyOf(values)).then(list.reload)} />}
        {allowed.enabled && one.confidential && <ConfirmButton look="plain" label={t("developers.applications.rotate")} question={t("developers.applications.rotate_about")} onConfirm={rotate} />}
        <ConfirmButton label={t("developers.applications.delete")} question={t("developers.applications.delete_about", { name: one.name })} onConfirm={() => api.delete(path).then(list.reload)} />
      </span>
    );
  };
  return (
    <>
      <Section title={t("developers.applications.mine")} about={t("developers.applications.mine_about", { number: allowed.mostApplications })} actions={allowed.enabled && add}>
        <Table
          label={t("developers.applications.mine")}
          list={list}
          id={({ id }) => id}
          columns={[
            { title: t("developers.applications.name"), value: ({ name }) => name },
            { title: t("developers.applications.id"), value: ({ id }) => id, cell: ({ id }) => <code>{id}</code> },
            { title: t("developers.applications.type"), value: ({ confidential }) => t(confidential ? "developers.applications.with_secret" : "developers.applications.without_secret") },
            { title: t("developers.applications.scopes"), value: ({ scopes }) => scopes.join(" ") },
          ]}
          actions={actions}
          empty={t("developers.applications.none")}
        />
      </Section>
      {sample && <LoginSample application={sample} />}
    </>
  );
}

function Keys({ allowed, onSecret }: PartProps) {
  const list = useLoad("keys", () => listOf<Key>("keys"));
  const issue = async (values: Values): Promise<void> => {
    const { key } = await api.post<{ key: string }>(`${DEVELOPER}/keys`, { name: text(values, "name") });
    subscriptionKey.value = key;
    onSecret({ title: t("developers.applications.key"), about: t("developers.applications.key_once"), value: key });
    await list.reload();
  };
  const add = (
    <FormButton label={t("developers.applications.key_add")} icon="key" look="primary" fields={[{ kind: "text", name: "name", label: t("developers.applications.name"), hint: t("developers.applications.key_name_about"), required: true }]} onSubmit={issue} />
  );
  const limits = { number: allowed.mostKeys, rate: allowed.rate, quota: formatNumber(allowed.dailyQuota) };
  return (
    <Section title={t("developers.applications.keys")} about={t("developers.applications.keys_about", limits)} actions={allowed.enabled && add}>
      <Table
        label={t("developers.applications.keys")}
        list={list}
        id={({ id }) => id}
        columns={[
          { title: t("developers.applications.name"), value: ({ name }) => name },
          { title: t("developers.applications.begins"), value: ({ hint }) => hint, cell: ({ hint }) => <code>{hint} …</code> },
          { title: t("developers.applications.used"), value: ({ usedToday }) => usedToday, cell: (key) => <Usage of={key} /> },
          { title: t("developers.applications.created"), value: ({ createdAt }) => createdAt, cell: ({ createdAt }) => when(createdAt) },
        ]}
        actions={({ id, name }) => <ConfirmButton label={t("developers.applications.revoke")} question={t("developers.applications.revoke_about", { name })} onConfirm={() => api.delete(`${DEVELOPER}/keys/${id}`).then(list.reload)} />}
        empty={t("developers.applications.no_keys")}
      />
      <Counted list={list} seconds={10} />
    </Section>
  );
}

/** Since when the gateway refuses the key, or null if it accepts the key. */
export function refusedSince({ expiresAt, revokedAt }: Pick<Key, "expiresAt" | "revokedAt">): string | null {
  return revokedAt ?? (expiresAt && new Date(expiresAt) <= new Date() ? expiresAt : null);
}

function Usage({ of: key }: { of: Key }) {
  const { name, usedToday, dailyQuota } = key;
  const since = refusedSince(key);
  if (since) return <span>{t("developers.applications.refused", { time: when(since) })}</span>;
  return (
    <span class="usage">
      <meter min={0} max={dailyQuota} value={usedToday} aria-label={t("developers.applications.used_by", { name })} />
      <span>{t("developers.applications.used_of", { used: formatNumber(usedToday), quota: formatNumber(dailyQuota) })}</span>
    </span>
  );
}
