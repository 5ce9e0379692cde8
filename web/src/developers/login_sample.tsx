/** The next step after an application is registered: a login with it, and the exchange of the code for tokens. */

import { randomText } from "@domogate/client/core";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { config } from "../app/config";
import { t } from "../app/i18n";
import { challengeOf } from "../app/oauth";
import { Field } from "../parts/field";
import { Section } from "../kit/parts";
import { Code } from "./code";
import { quote } from "./snippets";

interface Registered {
  readonly id: string;
  readonly name: string;
  readonly confidential: boolean;
  readonly redirectUris: readonly string[];
  readonly scopes: readonly string[];
}

const ISSUER = `${config.origin}/auth`;
const DISCOVERY = `${ISSUER}/.well-known/openid-configuration`;

export function LoginSample({ application }: { application: Registered }) {
  const { name, confidential, redirectUris } = application;
  const [given, setGiven] = useState("");
  const pkce = useMemo(() => ({ verifier: randomText(), state: randomText() }), [application.id]);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => element.current?.scrollIntoView(), [application.id]);
  return (
    <div class="login-sample" ref={element}>
      <Section title={t("developers.applications.next", { name })} about={t("developers.applications.next_about")}>
        <div class="panel">
          <Code label={t("developers.applications.authorize_url")} text={`${ISSUER}/authorize`} />
          <Code label={t("developers.applications.token_url")} text={`${ISSUER}/token`} />
          <p>{t("developers.applications.next_open", { uri: redirectUris[0] ?? "" })}</p>
          <Code label={t("developers.applications.next_login")} text={loginAddress(application, pkce)} />
          <Field label={t("developers.applications.code")} hint={t("developers.applications.code_about")} value={given} onInput={setGiven} autocomplete="off" />
          {confidential && <p>{t("developers.applications.next_secret")}</p>}
          <Code label={t("developers.applications.next_exchange")} text={exchange(application, pkce.verifier, codeOf(given))} />
          <p>
            <a class="link-alone" href={DISCOVERY} target="_blank">
              {t("developers.applications.discovery")}
            </a>
          </p>
        </div>
      </Section>
    </div>
  );
}

function loginAddress({ id, redirectUris, scopes }: Registered, { verifier, state }: { verifier: string; state: string }): string {
  const request = new URLSearchParams({
    response_type: "code",
    client_id: id,
    redirect_uri: redirectUris[0] ?? "",
    scope: scopes.join(" "),
    state,
    code_challenge: challengeOf(verifier),
    code_challenge_method: "S256",
  });
  return `${ISSUER}/authorize?${request}`;
}

/** The code alone, from the code or from the whole address with it. */
function codeOf(given: string): string {
  return /[?&]code=([^&#]+)/.exec(given)?.[1] ?? (given.trim() || "CODE");
}

function exchange({ id, confidential, redirectUris }: Registered, verifier: string, code: string): string {
  const form = { grant_type: "authorization_code", code, redirect_uri: redirectUris[0] ?? "", code_verifier: verifier, ...(confidential ? {} : { client_id: id }) };
  return [
    `curl -i ${quote(`${ISSUER}/token`)}`,
    ...(confidential ? [`-u ${quote(`${id}:SECRET`)}`] : []),
    ...Object.entries(form).map(([name, value]) => `--data-urlencode ${quote(`${name}=${value}`)}`),
  ].join(" \\\n  ");
}
