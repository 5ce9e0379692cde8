/** Webhook tester: a receiver of the gateway, a webhook to it, an event, and the delivery with its signature. */

import { useEffect, useState } from "preact/hooks";
import { api } from "../app/api";
import { t } from "../app/i18n";
import type { Home } from "../homes/model";
import { Facts, Head, Section, useRepeat, when } from "../kit/parts";
import { Button } from "../parts/button";
import { Field, Select } from "../parts/field";
import { Show, useLoad } from "../parts/loaded";
import { Empty, Notice } from "../parts/notice";
import { toast } from "../parts/toast";
import { pretty } from "./answer";
import { Code } from "./code";
import { listHomes, readHome } from "./lists";
import { LoginFirst } from "./login_first";
import { verify, type Verdict } from "./signature";

interface Delivery {
  readonly at: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly whole: boolean;
}

interface Receiver {
  readonly id: string;
  readonly url: string;
  readonly expiresAt: string;
  readonly deliveries: readonly Delivery[];
}

interface Test {
  readonly receiver: Receiver;
  readonly webhook: string;
  readonly secret: string;
  readonly home: Home;
}

const RECEIVERS = "/developer/v1/receivers";

export function WebhookTester() {
  return (
    <>
      <Head title={t("developers.webhooks.title")} about={t("developers.webhooks.about")} />
      <LoginFirst why={t("developers.webhooks.why_login")}>
        <Tester />
      </LoginFirst>
    </>
  );
}

function Tester() {
  const homes = useLoad("homes", listHomes);
  const [chosen, setChosen] = useState("");
  const [test, setTest] = useState<Test | null>(null);
  useEffect(() => (test ? () => void end(test) : undefined), [test]);
  const begin = async (id: string): Promise<void> => {
    const [receiver, home] = await Promise.all([api.post<Receiver>(RECEIVERS), readHome(id)]);
    const webhook = await api.post<{ id: string; secret: string }>("/webhooks", { plantId: id, url: receiver.url });
    setTest({ receiver, webhook: webhook.id, secret: webhook.secret, home });
  };
  return (
    <Show of={homes}>
      {(list) => {
        const id = chosen || (list[0]?.id ?? "");
        if (!id) return <Empty title={t("developers.webhooks.no_home")} />;
        return (
          <>
            <Section title={t("developers.webhooks.step_register")}>
              <div class="panel">
                <Select label={t("developers.webhooks.home")} value={id} options={list.map((home) => [home.id, home.name] as const)} onChange={setChosen} />
                <div class="buttons">
                  <Button look={test ? "plain" : "primary"} onClick={() => begin(id)}>
                    {t(test ? "developers.webhooks.again" : "developers.webhooks.register")}
                  </Button>
                </div>
              </div>
            </Section>
            {test && <Running key={test.webhook} test={test} />}
          </>
        );
      }}
    </Show>
  );
}

/** Remove the webhook and the receiver. The gateway would end them too: the receiver after ten minutes, the webhook with the grant of the page. */
async function end({ receiver, webhook }: Test): Promise<void> {
  await Promise.allSettled([api.delete(`/webhooks/${webhook}`), api.delete(`${RECEIVERS}/${receiver.id}`)]);
}

/** Switch the first lamp or plug of the home. Its report is an event. */
async function switchOne(home: Home): Promise<void> {
  const fresh = await readHome(home.id);
  const module = fresh.modules.find(({ reachable, command }) => reachable && (command === "set light" || command === "switch plug"));
  if (!module?.command) {
    toast(t("developers.webhooks.nothing_to_switch"), "failed");
    return;
  }
  const on = module.state && "on" in module.state ? !module.state.on : true;
  await api.post(`/home/v1/homes/${home.id}/modules/${module.id}/commands`, { do: module.command, on });
  toast(t(on ? "developers.webhooks.switched_on" : "developers.webhooks.switched_off", { name: module.name }));
}

function Running({ test: { receiver, webhook, secret: given, home } }: { test: Test }) {
  const path = `${RECEIVERS}/${receiver.id}`;
  const loaded = useLoad(receiver.id, () => api.get<Receiver>(path));
  const [secret, setSecret] = useState(given);
  useRepeat(loaded.reload, 1);
  const deliveries = loaded.data?.deliveries ?? [];
  return (
    <>
      <Facts
        facts={[
          [t("developers.webhooks.url"), <code>{receiver.url}</code>],
          [t("developers.webhooks.ends"), when(receiver.expiresAt)],
        ]}
      />
      <Section title={t("developers.webhooks.step_event")} about={t("developers.webhooks.step_event_about")}>
        <div class="buttons">
          <Button look="primary" onClick={() => switchOne(home)}>
            {t("developers.webhooks.switch")}
          </Button>
          <Button onClick={() => api.post(`/webhooks/${webhook}/test`).then(loaded.reload)}>{t("developers.webhooks.test")}</Button>
        </div>
      </Section>
      <Section title={t("developers.webhooks.step_delivery")} about={t("developers.webhooks.step_delivery_about")}>
        <Field label={t("developers.webhooks.secret")} hint={t("developers.webhooks.secret_about")} value={secret} onInput={setSecret} autocomplete="off" />
        {loaded.problem && <Notice kind="warn" title={loaded.problem} />}
        {deliveries.length ? (
          <ul class="deliveries" aria-label={t("developers.webhooks.step_delivery")}>
            {deliveries.map((one, index) => (
              <DeliveryRow key={`${one.headers["webhook-id"]} ${one.at}`} delivery={one} secret={secret} open={index === 0} />
            ))}
          </ul>
        ) : (
          <Empty title={t("developers.webhooks.waiting")} />
        )}
      </Section>
    </>
  );
}

function typeOf(body: string): string {
  try {
    return String((JSON.parse(body) as { type?: unknown }).type ?? "");
  } catch {
    return "";
  }
}

function DeliveryRow({ delivery: { at, headers, body, whole }, secret, open }: { delivery: Delivery; secret: string; open: boolean }) {
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  useEffect(() => {
    let current = true;
    void verify(secret, headers, body, Date.now() / 1000).then((found) => {
      if (current) setVerdict(found);
    });
    return () => {
      current = false;
    };
  }, [secret]);
  return (
    <li class="panel">
      <p>
        <strong>{typeOf(body)}</strong> <span class="soft">{new Date(at).toLocaleTimeString()}</span>
      </p>
      {verdict && <Notice kind={verdict === "good" ? "info" : "alarm"} title={t(`developers.webhooks.signature_${whole ? verdict : "cut"}`)} />}
      <details open={open}>
        <summary>{t("developers.webhooks.content")}</summary>
        <Code label={t("developers.webhooks.body")} text={pretty(body)} />
        <Code label={t("developers.webhooks.headers")} text={Object.entries(headers).map(([name, value]) => `${name}: ${value}`).join("\n")} />
      </details>
    </li>
  );
}
