/** The form of the MQTT broker. The gateway tests the connection, stores it and uses it at once. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { t } from "../app/i18n";
import { MANAGE } from "../kit/load";
import { Field, Switch } from "../parts/field";
import { toast } from "../parts/toast";
import type { ConnectionSetting } from "./model";
import { StepForm } from "./start/step_form";

export const CONNECTION = `${MANAGE}/drivers/mqtt/connection`;

const PORTS = { plain: "1883", tls: "8883" } as const;
/** The gateway gives up after 10 s. */
const LONGEST = 30_000;

interface BrokerFormProps {
  readonly present?: ConnectionSetting | null;
  readonly onConnected: () => Promise<unknown>;
}

export function BrokerForm({ present, onConnected }: BrokerFormProps) {
  const before = read(present?.url ?? `mqtt://127.0.0.1:${PORTS.plain}`);
  const [host, setHost] = useState(before.host);
  const [port, setPort] = useState(before.port);
  const [tls, setTls] = useState(before.tls);
  const [username, setUsername] = useState(present?.username ?? "");
  const [password, setPassword] = useState("");
  const changeTls = (on: boolean): void => {
    setTls(on);
    if (port === (on ? PORTS.plain : PORTS.tls)) setPort(on ? PORTS.tls : PORTS.plain);
  };
  const connect = async (): Promise<void> => {
    const name = host.trim().includes(":") && !host.trim().startsWith("[") ? `[${host.trim()}]` : host.trim();
    const body = { url: `mqtt${tls ? "s" : ""}://${name}:${port}`, username: username.trim() || null, password: password || null };
    await api.put(CONNECTION, body, { timeout: LONGEST });
    toast(t("console.broker.connected"));
    await onConnected();
  };
  return (
    <StepForm submit={t("console.broker.connect")} onSubmit={connect}>
      <div class="broker-address">
        <Field label={t("console.broker.host")} hint={t("console.broker.host_about")} value={host} onInput={setHost} required maxLength={250} />
        <Field label={t("console.broker.port")} type="number" min={1} max={65535} value={port} onInput={setPort} required />
      </div>
      <div class="broker-tls">
        <Switch label={t("console.broker.tls")} on={tls} onChange={changeTls} />
      </div>
      <Field label={t("console.broker.username")} hint={t("console.broker.username_about")} value={username} onInput={setUsername} autocomplete="off" maxLength={200} />
      <Field label={t("console.broker.password")} type="password" value={password} onInput={setPassword} autocomplete="new-password" maxLength={1000} />
    </StepForm>
  );
}

function read(url: string): { host: string; port: string; tls: boolean } {
  const tls = url.startsWith("mqtts:");
  const [, host = "", port = ""] = /^mqtts?:\/\/(.*?)(?::(\d+))?\/?$/.exec(url) ?? [];
  return { host, port: port || (tls ? PORTS.tls : PORTS.plain), tls };
}
