/** Webhook tester: a receiver of the gateway, a webhook to it, an event, and the delivery with its signature. */

import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../app/api";
import { formatClock, t } from "../app/i18n";
import type { Home } from "../homes/model";
import { Facts, Section, useRepeat, when } from "../kit/parts";
import { Button } from "../parts/button";
import { Field, Select } from "../parts/field";
import { Show, useLoad } from "../parts/loaded";
import { Empty, Notice } from "../parts/notice";
import { toast } from "../parts/toast";
import { pretty } from "./answer";
import { Code } from "./code";
import { listHomes, readHome } from "./lists";
import { LoginPage } from "./login_first";
import { verify, type Verdict } from "./signature";
import { beginTest, chosenHome, readDeliveries, secret, test, type Delivery } from "./webhook_test";

export function WebhookTester() {
  return (
    <LoginPage page="webhooks">
      <Tester />
    </LoginPage>
  );
}

function Tester() {
  const homes = useLoad("homes", listHomes);
  return (
    <Show of={homes}>
      {(list) => {
        const id = chosenHome.value || (list[0]?.id ?? "");
        if (!id) return <Empty title={t("developers.webhooks.no_home")} />;
        return (
          <>
            <Section title={t("developers.webhooks.step_register")}>
              <div class="panel">
                <Select label={t("developers.webhooks.home")} value={id} options={list.map((home) => [home.id, home.name] as const)} onChange={(value) => (chosenHome.value = value)} />
                <div class="buttons">
                  <Button look={test.value ? "plain" : "primary"} onClick={() => beginTest(id)}>
                    {t(test.value ? "developers.webhooks.again" : "developers.webhooks.register")}
                  </Button>
                </div>
              </div>
            </Section>
            {test.value && <Running key={test.value.webhook} />}
          </>
        );
      }}
    </Show>
  );
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

function Running() {
  const loaded = useLoad("deliveries", readDeliveries);
  useRepeat(loaded.reload, 1);
  const list = useRef<HTMLUListElement>(null);
  const received = Boolean(test.value?.receiver.deliveries.length);
  // The first delivery may be below the window: without this, nothing seems to happen after the click.
  useEffect(() => list.current?.scrollIntoView({ block: "nearest" }), [received]);
  if (!test.value) return null;
  const { receiver, webhook, home, ended } = test.value;
  return (
    <>
      <Facts
        facts={[
          [t("developers.webhooks.url"), <code>{receiver.url}</code>],
          [t("developers.webhooks.ends"), when(receiver.expiresAt)],
        ]}
      />
      {ended ? <Notice kind="warn" title={t("developers.webhooks.ended")} /> : <p class="soft">{t("developers.webhooks.kept")}</p>}
      {!ended && (
        <Section title={t("developers.webhooks.step_event")} about={t("developers.webhooks.step_event_about")}>
          <div class="buttons">
            <Button look="primary" onClick={() => switchOne(home)}>
              {t("developers.webhooks.switch")}
            </Button>
            <Button onClick={() => api.post(`/webhooks/${webhook}/test`).then(loaded.reload)}>{t("developers.webhooks.test")}</Button>
          </div>
        </Section>
      )}
      <Section title={t("developers.webhooks.step_delivery")} about={t("developers.webhooks.step_delivery_about")}>
        <Field label={t("developers.webhooks.secret")} hint={t("developers.webhooks.secret_about")} value={secret.value} onInput={(value) => (secret.value = value)} autocomplete="off" />
        {!ended && loaded.problem && <Notice kind="warn" title={loaded.problem} />}
        {receiver.deliveries.length ? (
          <ul class="deliveries" ref={list} aria-label={t("developers.webhooks.step_delivery")}>
            {receiver.deliveries.map((one, index) => (
              <DeliveryRow key={`${one.headers["webhook-id"]} ${one.at}`} delivery={one} secret={secret.value} open={index === 0} />
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
    void verify(secret, headers, body, Date.parse(at) / 1000).then((found) => {
      if (current) setVerdict(found);
    });
    return () => {
      current = false;
    };
  }, [secret]);
  return (
    <li class="panel">
      <p>
        <strong>{typeOf(body)}</strong> <span class="soft">{formatClock(new Date(at))}</span>
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
