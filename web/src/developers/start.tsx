/** Getting started: a key, a token, and the first calls with the reader's own homes. */

import { readClaims } from "@domogate/client/core";
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { api } from "../app/api";
import { config } from "../app/config";
import { formatTime, t } from "../app/i18n";
import { person } from "../app/session";
import type { Home, Module } from "../homes/model";
import { Button } from "../parts/button";
import { Select } from "../parts/field";
import { Show, useLoad } from "../parts/loaded";
import { Notice } from "../parts/notice";
import { AnswerView } from "./answer";
import { KEY_HEADER, makeCall, sendAsPerson, subscriptionKey, type Answer, type Call } from "./call";
import { CallCode, Code, shownToken, TokenButton } from "./code";
import { listHomes, modulesOf, readHome } from "./lists";
import { LoginPage } from "./login_first";
import { KeyField } from "./try_it";

export function Start() {
  return (
    <LoginPage page="start">
      <ol class="steps">
        <Step title={t("developers.start.key")}>
          <KeyStep />
        </Step>
        <Step title={t("developers.start.token")}>
          <p>{t("developers.start.token_about", { name: person.value?.name ?? "" })}</p>
          <TokenStep />
        </Step>
        <Step title={t("developers.start.call")}>
          <CallStep />
        </Step>
      </ol>
    </LoginPage>
  );
}

function Step({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <li class="panel step">
      <h2>{title}</h2>
      {children}
    </li>
  );
}

function TokenStep() {
  const token = shownToken.value;
  const end = token ? Number(readClaims(token)["exp"]) : 0;
  return (
    <>
      {token && <Code label={t("developers.start.token_label", { time: formatTime(new Date(end * 1000)) })} text={token} />}
      <TokenButton />
    </>
  );
}

/** The key that this page got for the reader. The gateway shows it only once. */
const issuedKey = signal("");

function KeyStep() {
  const offer = useLoad("self-service", () => api.get<{ enabled: boolean }>("/developer/v1/self-service"));
  const key = subscriptionKey.value;
  const isOwn = key !== "" && key !== config.demoKey;
  const issue = async (): Promise<void> => {
    const created = await api.post<{ key: string }>("/developer/v1/keys", { name: t("developers.start.key_name") });
    issuedKey.value = created.key;
    subscriptionKey.value = created.key;
  };
  return (
    <>
      <p>{config.demoKey && !isOwn ? t("developers.start.key_demo") : t("developers.start.key_about")}</p>
      {isOwn && key === issuedKey.value && <Notice title={t("developers.start.key_once")} />}
      {key && <Code label={KEY_HEADER} text={key} />}
      <KeyField />
      {!config.demoKey && offer.data?.enabled === false && <p class="soft">{t("developers.start.key_ask")}</p>}
      {!isOwn && offer.data?.enabled && (
        <Button look={key ? "plain" : "primary"} icon="key" onClick={issue}>
          {t("developers.start.key_get")}
        </Button>
      )}
    </>
  );
}

function CallStep() {
  const homes = useLoad("homes", listHomes);
  const [chosen, setChosen] = useState("");
  const id = chosen || (homes.data?.[0]?.id ?? "");
  const home = useLoad(id, async () => (id ? readHome(id) : null));
  return (
    <Show of={homes}>
      {(found) => (
        <>
          {found.length > 0 && <Select label={t("developers.start.home")} value={id} options={found.map((one) => [one.id, one.name] as const)} onChange={setChosen} />}
          {!found.length && <Notice kind="info" title={t("developers.start.no_home")} />}
          <Show of={{ ...home, data: home.data ?? (id ? null : EMPTY) }}>{(open) => <Calls key={open.id} home={open} />}</Show>
        </>
      )}
    </Show>
  );
}

const EMPTY: Home = { id: "", name: "", type: "house", role: "owner", site: false, until: null, timeZone: null, floors: [], rooms: [], modules: [] };

function Calls({ home }: { home: Home }) {
  const first = home.modules.find(({ kind }) => kind === "light") ?? home.modules[0];
  const [moduleId, setModule] = useState(first?.id ?? "");
  const [index, setIndex] = useState(0);
  const [answer, setAnswer] = useState<Answer | null>(null);
  const module = home.modules.find((one) => one.id === moduleId);
  const calls = listCalls(home, module);
  const chosen = calls[index] ?? calls[0];
  const choose = (next: number): void => {
    setIndex(next);
    setAnswer(null);
  };
  if (!chosen) return null;
  const run = async (): Promise<void> => {
    setAnswer(null);
    setAnswer(await sendAsPerson(chosen[1]));
  };
  return (
    <>
      {module && <Select label={t("developers.start.module")} value={moduleId} options={modulesOf(home).map((one) => [one.id, one.name] as const)} onChange={setModule} />}
      <div class="choice" role="group" aria-label={t("developers.start.which")}>
        {calls.map(([name], at) => (
          <Button key={name} pressed={calls[at] === chosen} onClick={() => choose(at)}>
            {t(`developers.start.${name}`, { module: module?.name ?? "" })}
          </Button>
        ))}
      </div>
      <CallCode call={chosen[1]} />
      {!subscriptionKey.value && <Notice kind="warn" title={t("developers.start.key_first")} />}
      <div class="buttons">
        <Button look="primary" onClick={run}>
          {t("developers.try.send")}
        </Button>
      </div>
      <AnswerView answer={answer} />
      {answer && answer.status < 300 && (
        <Notice title={t("developers.start.done")}>
          <ul class="next">
            {NEXT.map((page) => (
              <li key={page}>
                <a href={`/developers/${page}`}>{t(`developers.start.next_${page}`)}</a>
              </li>
            ))}
          </ul>
        </Notice>
      )}
    </>
  );
}

/** The pages to go on with. */
const NEXT = ["reference", "stream", "webhooks", "applications"] as const;

/** The calls that fit the home and the module: list, read, switch. A light is read and set in the family of home automation. */
function listCalls(home: Home, module: Module | undefined): readonly (readonly ["list" | "read" | "switch_on", Call])[] {
  const headers = subscriptionKey.value ? { [KEY_HEADER]: subscriptionKey.value } : {};
  const call = (path: string, body?: unknown): Call => makeCall(path, headers, body);
  const list = ["list", call("/homeauto/v1.0/plants")] as const;
  if (!module) return [list];
  const light = `/homeauto/v1.0/light/lighting/addressLocation/plants/${home.id}/modules/parameter/id/value/${module.id}`;
  if (module.kind === "light") return [list, ["read", call(light)], ["switch_on", call(light, { status: "on" })]];
  const own = `/home/v1/homes/${home.id}/modules/${module.id}`;
  const switches = module.command === "switch plug" || module.command === "switch heater";
  return [list, ["read", call(own)], ...(switches ? [["switch_on", call(`${own}/commands`, { do: module.command, on: true })] as const] : [])];
}
