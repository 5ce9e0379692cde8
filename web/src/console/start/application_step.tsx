/** Register the first application and issue its subscription key. The secret and the key are shown once. */

import { useRef, useState } from "preact/hooks";
import { api } from "../../app/api";
import { t } from "../../app/i18n";
import { MANAGE } from "../../kit/load";
import { Copyable, Facts } from "../../kit/parts";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import type { Client } from "../model";
import { StepForm } from "./step_form";

const SCOPES = ["openid", "profile", "offline_access", "topology.read", "light.read", "light.write", "plug.read", "plug.write", "scene.launch", "comfort.read", "comfort.write"];

interface Made {
  readonly client: Client;
  readonly secret: string | null;
}

interface Registered extends Made {
  readonly key: string;
}

function idOf(name: string): string {
  const plain = name.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  return plain || "application";
}

export function ApplicationStep({ onDone }: { onDone: () => void }) {
  const [name, setName] = useState("");
  const [redirect, setRedirect] = useState("");
  const [registered, setRegistered] = useState<Registered | null>(null);
  // If the key fails, another attempt continues with the application that exists: its secret is not shown again.
  const made = useRef<Made | null>(null);
  const register = async (): Promise<void> => {
    const body = { name: name.trim(), redirectUris: [redirect.trim()] };
    if (made.current) await api.patch(`${MANAGE}/clients/${made.current.client.id}`, body);
    else made.current = await api.post<Made>(`${MANAGE}/clients`, { id: idOf(name), confidential: true, scopes: SCOPES, ...body });
    const { key } = await api.post<{ key: string }>(`${MANAGE}/subscriptions`, { name: name.trim() });
    setRegistered({ ...made.current, key });
  };
  if (!registered) {
    return (
      <StepForm submit={t("console.start.application.register")} onSubmit={register}>
        <Field label={t("console.name")} hint={t("console.applications.name_about")} value={name} onInput={setName} required maxLength={100} />
        <Field label={t("console.start.application.redirect")} hint={t("console.start.application.redirect_about")} type="url" value={redirect} onInput={setRedirect} required />
      </StepForm>
    );
  }
  return (
    <>
      <p>{t("console.once")}</p>
      <Facts
        facts={[
          [t("console.applications.id"), <Copyable value={registered.client.id} />],
          [t("console.applications.secret"), registered.secret && <Copyable value={registered.secret} />],
          [t("console.keys.key"), <Copyable value={registered.key} />],
        ]}
      />
      <Button look="primary" onClick={onDone}>
        {t("common.stored")}
      </Button>
    </>
  );
}
