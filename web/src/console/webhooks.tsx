/** The webhooks of all applications: their health, and the events whose delivery was given up. */

import { api, ApiError } from "../app/api";
import { count, formatNumber, t } from "../app/i18n";
import { loginOf } from "../app/login_name";
import { go, query } from "../app/router";
import { Button } from "../parts/button";
import { Notice } from "../parts/notice";
import { toast } from "../parts/toast";
import { MANAGE, useList } from "../kit/load";
import { ConfirmButton, Facts, Head, Section, useRepeat, when } from "../kit/parts";
import { Table } from "../kit/table";
import { Show, useLoad } from "../parts/loaded";
import { answeredBy } from "./gateways";
import { useClientNames } from "./grants";
import type { Client, DeadLetter, Delivery, Plant, User, Webhook } from "./model";
import { ModuleLink, Named, placeText, type Place } from "./module_link";
import { Tag, valueWords } from "./values";

const STATES = ["healthy", "waiting", "failing", "ended"] as const;

/** Events can wait although the receiver works: it refused an event, or the person must first renew the password or accept the terms. */
export function healthOf({ endedAt, failingSince, nextAttemptAt }: Pick<Webhook, "endedAt" | "failingSince" | "nextAttemptAt">): (typeof STATES)[number] {
  if (endedAt) return "ended";
  if (failingSince) return "failing";
  return nextAttemptAt ? "waiting" : "healthy";
}

function Health({ webhook }: { webhook: Webhook }) {
  const health = healthOf(webhook);
  return <Tag group="health" value={health} kind={health === "healthy" ? "" : health === "failing" ? "alarm" : "warn"} />;
}

export function Webhooks() {
  const list = useList<Webhook>("/webhooks", { deadLetters: query.value.get("deadLetters") ?? undefined });
  const names = useClientNames();
  useRepeat(list.reload, 10);
  return (
    <>
      <Head title={t("console.webhooks.title")} about={t("console.webhooks.about")} />
      <Table
        label={t("console.webhooks.title")}
        list={list}
        id={({ id }) => id}
        href={({ id }) => `/console/webhooks/${id}`}
        filters={[
          { name: "health", label: t("console.webhooks.health"), options: STATES.map((one) => [one, valueWords("health", one)] as const), holds: (webhook, chosen) => healthOf(webhook) === chosen },
          { name: "deadLetters", label: t("console.webhooks.dead"), options: [["true", t("console.webhooks.with_dead")]] },
        ]}
        columns={[
          { title: "URL", value: ({ url }) => url, cell: ({ url }) => <code>{url}</code> },
          { title: t("console.application"), value: ({ clientId }) => names.get(clientId) || clientId },
          { title: t("console.webhooks.kinds"), value: kindWords },
          { title: t("console.created"), value: ({ createdAt }) => createdAt, cell: ({ createdAt }) => when(createdAt) },
          { title: t("console.webhooks.health"), value: (webhook) => valueWords("health", healthOf(webhook)), cell: (webhook) => <Health webhook={webhook} /> },
        ]}
        empty={t("console.webhooks.none")}
      />
    </>
  );
}

export function WebhookPage({ id }: { id: string }) {
  const path = `${MANAGE}/webhooks/${id}`;
  const loaded = useLoad(id, () => api.get<Webhook>(path));
  const names = useNames(loaded.data);
  useRepeat(loaded.reload, 5);
  const remove = async (): Promise<void> => {
    await api.delete(path);
    go("/console/webhooks");
  };
  return (
    <Show of={loaded}>
      {(webhook) => (
        <>
          <Head title={t("console.webhooks.one")} above={[["/console/webhooks", t("console.webhooks.title")]]} about={<Health webhook={webhook} />}>
            <ConfirmButton label={t("console.delete")} question={t("console.webhooks.delete_about")} onConfirm={remove} />
          </Head>
          {webhook.problem && <Notice kind="warn" title={webhook.problem} />}
          <Facts
            facts={[
              ["URL", <code>{webhook.url}</code>],
              [t("console.application"), names && <Named kind="application" id={webhook.clientId} name={names.client} href={`/console/applications/${encodeURIComponent(webhook.clientId)}`} />],
              [t("console.orders.person"), names && <Named kind="person" id={webhook.userId} name={names.person} href={`/console/people/${webhook.userId}`} />],
              [t("console.plants.one"), names && <Named kind="plant" id={webhook.plantId} name={names.plant} href={`/console/plants/${webhook.plantId}`} />],
              [t("console.webhooks.kinds"), kindWords(webhook)],
              [t("console.webhooks.form"), webhook.form],
              [t("console.created"), when(webhook.createdAt)],
              [t("console.webhooks.failing"), webhook.failingSince && `${when(webhook.failingSince)} (${count("console.webhooks.failures", webhook.failures)})`],
              [t("console.webhooks.next"), when(webhook.nextAttemptAt)],
              [t("console.webhooks.ended"), webhook.endedAt && `${when(webhook.endedAt)} ${valueWords("webhookend", webhook.endedReason, webhook.endedWhy)}`],
            ]}
          />
          <Deliveries id={id} ended={webhook.endedAt !== null} />
          <DeadLetters webhook={webhook} plantName={names?.plant} />
        </>
      )}
    </Show>
  );
}

interface Names {
  readonly client: string;
  readonly person: string;
  readonly plant: string;
}

/** The names of the application, the person and the plant of a webhook; null while they are loaded. What was deleted has no name. */
function useNames(webhook: Webhook | null): Names | null {
  const found = useLoad(`names ${webhook?.id ?? ""}`, async (): Promise<Names | null> => {
    if (!webhook) return null;
    const [client, person, plant] = await Promise.all([
      readName<Client>(`clients/${encodeURIComponent(webhook.clientId)}`, ({ name }) => name),
      readName<User>(`users/${webhook.userId}`, ({ name, email }) => name || loginOf(email)),
      readName<Plant>(`plants/${webhook.plantId}`, ({ name }) => name),
    ]);
    return { client, person, plant };
  });
  return found.data;
}

function kindWords({ kinds }: Webhook): string {
  return kinds.map((kind) => valueWords("eventkind", kind)).join(", ");
}

async function readName<T>(path: string, nameOf: (found: T) => string): Promise<string> {
  try {
    return nameOf(await api.get<T>(`${MANAGE}/${path}`));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return "";
    throw error;
  }
}

/** The last attempts of this gateway, and a test event that is sent now. */
function Deliveries({ id, ended }: { id: string; ended: boolean }) {
  const deliveries = useList<Delivery>(`/webhooks/${id}/deliveries`, { limit: undefined });
  useRepeat(deliveries.reload, 5);
  const test = async (): Promise<void> => {
    const answer = await api.post<Delivery>(`${MANAGE}/webhooks/${id}/test`, undefined, { timeout: 60_000 });
    toast(t("console.webhooks.tested", { answer: answerOf(answer) }), isDelivered(answer) ? "done" : "failed");
    await deliveries.reload();
  };
  return (
    <Section title={t("console.webhooks.deliveries")} about={[t("console.webhooks.deliveries_about"), answeredBy(deliveries.gateway)].filter(Boolean).join(" ")} actions={!ended && <Button onClick={test}>{t("console.webhooks.test")}</Button>}>
      <Table
        label={t("console.webhooks.deliveries")}
        list={deliveries}
        id={({ at, eventId }) => `${at} ${eventId}`}
        columns={[
          { title: t("console.orders.queued"), value: ({ at }) => at, cell: ({ at }) => when(at) },
          { title: t("console.webhooks.event"), value: ({ eventId }) => eventId, cell: ({ eventId }) => <code>{eventId}</code> },
          { title: t("console.webhooks.tried"), value: ({ attempt }) => attempt },
          { title: t("console.webhooks.answer"), value: answerOf, cell: (delivery) => <span class={isDelivered(delivery) ? "tag" : "tag alarm sentence"}>{answerOf(delivery)}</span> },
          { title: t("console.orders.took"), value: ({ milliseconds }) => milliseconds, cell: ({ milliseconds }) => t("console.orders.milliseconds", { number: formatNumber(milliseconds, { maximumFractionDigits: 0 }) }) },
        ]}
        empty={t("console.webhooks.no_deliveries")}
      />
    </Section>
  );
}

function isDelivered({ status }: Delivery): boolean {
  return status !== null && status >= 200 && status < 300;
}

function answerOf({ status, problem }: Delivery): string {
  return [status, problem].filter(Boolean).join(" ");
}

function DeadLetters({ webhook: { id, plantId, endedAt }, plantName }: { webhook: Webhook; plantName: string | undefined }) {
  const ended = endedAt !== null;
  const letters = useList<DeadLetter>(`/webhooks/${id}/dead-letters`, { names: true });
  const placeOf = ({ moduleId, moduleName }: DeadLetter): Place => ({ plantId, plantName, moduleId, moduleName });
  const replay = async (body: object): Promise<void> => {
    const { replayed } = await api.post<{ replayed: number }>(`${MANAGE}/webhooks/${id}/dead-letters/replay`, body);
    toast(count("console.webhooks.replayed", replayed));
    await letters.reload();
  };
  return (
    <Section
      title={t("console.webhooks.dead")}
      about={t("console.webhooks.dead_about")}
      actions={letters.data?.length && !ended ? <Button onClick={() => replay({})}>{t("console.webhooks.replay_all")}</Button> : null}
    >
      <Table
        label={t("console.webhooks.dead")}
        list={letters}
        id={(letter) => letter.id}
        columns={[
          { title: t("console.webhooks.event"), value: (letter) => Number(letter.id), cell: (letter) => letter.id },
          { title: t("console.orders.queued"), value: ({ time }) => time, cell: ({ time }) => when(time) },
          { title: t("console.modules.module"), value: (letter) => placeText(placeOf(letter)), cell: (letter) => <ModuleLink place={placeOf(letter)} /> },
          { title: t("console.webhooks.tried"), value: ({ attempts }) => attempts },
          { title: t("console.webhooks.problem"), value: ({ problem }) => problem },
        ]}
        actions={(letter) => !ended && <Button onClick={() => replay({ ids: [letter.id] })}>{t("console.webhooks.replay")}</Button>}
        empty={t("console.webhooks.no_dead")}
      />
    </Section>
  );
}
