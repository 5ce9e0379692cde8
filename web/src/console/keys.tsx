/** Subscription keys: programs send one with each request of a family. A key is shown once, after it was issued. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { formatNumber, t } from "../app/i18n";
import { number, text, time, type Values } from "../kit/form";
import { MANAGE, MOST, useList } from "../kit/load";
import { ConfirmButton, Counted, FormButton, Head, SecretDialog, when, type Secret } from "../kit/parts";
import { Table } from "../kit/table";
import type { Subscription } from "./model";
import { Tag, valueWords } from "./values";

export function Keys() {
  const list = useList<Subscription>("/subscriptions");
  const [secret, setSecret] = useState<Secret | null>(null);
  const issue = async (values: Values): Promise<void> => {
    const body = { name: text(values, "name"), rate: text(values, "rate") || null, dailyQuota: number(values, "dailyQuota"), expiresAt: time(values, "expiresAt") };
    const { key } = await api.post<{ key: string }>(`${MANAGE}/subscriptions`, body);
    setSecret({ title: t("console.keys.key"), about: t("console.once"), value: key });
    await list.reload();
  };
  return (
    <>
      <Head title={t("console.keys.title")} about={t("console.keys.about")}>
        <FormButton
          label={t("console.keys.add")}
          icon="add"
          look="primary"
          fields={[
            { kind: "text", name: "name", label: t("console.name"), hint: t("console.keys.name_about"), required: true },
            { kind: "text", name: "rate", label: t("console.keys.rate"), hint: t("console.keys.rate_about") },
            { kind: "text", name: "dailyQuota", label: t("console.keys.quota"), hint: t("console.keys.no_limit"), type: "number", min: 1 },
            { kind: "text", name: "expiresAt", label: t("console.keys.expires"), hint: t("console.keys.expires_about"), type: "datetime-local" },
          ]}
          onSubmit={issue}
        />
      </Head>
      <Table
        label={t("console.keys.title")}
        list={list}
        id={({ id }) => id}
        search
        filters={[{ name: "state", label: t("console.state"), options: STATES.map((one) => [one, valueWords("keystate", one)] as const), holds: (key, chosen) => stateOf(key) === chosen }]}
        columns={[
          { title: t("console.name"), value: ({ name }) => name },
          { title: t("console.keys.begins"), value: ({ hint }) => hint, cell: ({ hint }) => <code class="short">{`${hint}…`}</code> },
          { title: t("console.keys.rate"), value: ({ rate }) => rate },
          { title: t("console.keys.quota"), value: ({ dailyQuota }) => dailyQuota, cell: ({ dailyQuota }) => (dailyQuota === null ? "–" : formatNumber(dailyQuota)) },
          { title: t("console.keys.used"), value: ({ usedToday }) => usedToday, cell: (key) => <Used subscription={key} /> },
          { title: t("console.created"), value: ({ createdAt }) => createdAt, cell: ({ createdAt }) => when(createdAt) || "–" },
          { title: t("console.keys.expires"), value: ({ expiresAt }) => expiresAt, cell: ({ expiresAt }) => when(expiresAt) || "–" },
          { title: t("console.state"), value: (key) => valueWords("keystate", stateOf(key)), cell: (key) => <Tag group="keystate" value={stateOf(key)} kind={stateOf(key) === "active" ? "" : "warn"} /> },
        ]}
        actions={(key) =>
          stateOf(key) === "active" && (
            <ConfirmButton label={t("console.revoke")} question={t("console.keys.revoke_about", { name: key.name })} onConfirm={() => api.delete(`${MANAGE}/subscriptions/${key.id}`).then(list.reload)} />
          )
        }
        empty={t("console.keys.none")}
      />
      {(list.data?.length ?? 0) < MOST && <Counted list={list} seconds={30} />}
      {secret && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </>
  );
}

function Used({ subscription: { usedToday, dailyQuota } }: { subscription: Subscription }) {
  return (
    <>
      {formatNumber(usedToday)} {dailyQuota !== null && <meter class="usage" max={dailyQuota} value={usedToday} aria-label={t("console.keys.used")} />}
    </>
  );
}

const STATES = ["active", "expired", "revoked"] as const;

function stateOf({ revokedAt, expiresAt }: Subscription): (typeof STATES)[number] {
  if (revokedAt) return "revoked";
  return expiresAt && new Date(expiresAt) <= new Date() ? "expired" : "active";
}
