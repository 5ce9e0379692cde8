/** Token inspector: decodes and verifies a token in the browser. The token never leaves the page. */

import { useEffect, useState } from "preact/hooks";
import { formatAgo, formatTime, t } from "../app/i18n";
import { accessToken, person } from "../app/session";
import { Facts, Head, Section } from "../kit/parts";
import { Button } from "../parts/button";
import { Show, useLoad } from "../parts/loaded";
import { Notice } from "../parts/notice";
import { Code } from "./code";
import { check, decode, type Decoded, type Finding, type KeySet } from "./jwt";

async function readKeySet(): Promise<KeySet> {
  const [issuer, keys] = await Promise.all(["/auth/.well-known/openid-configuration", "/auth/jwks"].map(async (path) => (await fetch(path)).json()));
  return { issuer: (issuer as { issuer: string }).issuer, keys: (keys as { keys: KeySet["keys"] }).keys };
}

export function TokenInspector() {
  const [token, setToken] = useState("");
  const keySet = useLoad("keys", readKeySet);
  const decoded = token.trim() ? decode(token) : null;
  return (
    <>
      <Head title={t("developers.token.title")} about={t("developers.token.about")} />
      <div class="field">
        <label for="token">{t("developers.token.label")}</label>
        <p class="hint" id="token-hint">
          {t("developers.token.hint")}
        </p>
        <textarea id="token" class="code-input" rows={5} spellcheck={false} autocomplete="off" aria-describedby="token-hint" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
      </div>
      <div class="buttons">
        {person.value && <Button onClick={async () => setToken(await accessToken())}>{t("developers.token.mine")}</Button>}
        {token && (
          <Button look="quiet" onClick={() => setToken("")}>
            {t("developers.token.clear")}
          </Button>
        )}
      </div>
      {token.trim() && !decoded && <Notice kind="alarm" title={t("developers.token.unreadable")} />}
      {decoded && <Show of={keySet}>{(keys) => <Inspected key={decoded.signed} decoded={decoded} keys={keys} />}</Show>}
    </>
  );
}

function Inspected({ decoded, keys }: { decoded: Decoded; keys: KeySet }) {
  const [findings, setFindings] = useState<readonly Finding[]>([]);
  useEffect(() => {
    void check(decoded, keys, Date.now() / 1000).then(setFindings);
  }, [decoded.signed, decoded.signature.join()]);
  const { header, claims } = decoded;
  const words = (value: unknown): string => (typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value));
  return (
    <>
      {findings.map((finding) => (
        <Notice key={finding} kind={finding === "good" ? "info" : finding === "insecure" ? "warn" : "alarm"} title={t(`developers.token.${finding}`, { issuer: keys.issuer, kid: words(header.kid), alg: words(header.alg) })} />
      ))}
      <Section title={t("developers.token.content")}>
        <Facts
          facts={[
            [t("developers.token.claim_iss"), words(claims.iss)],
            [t("developers.token.claim_sub"), words(claims.sub)],
            [t("developers.token.claim_aud"), words(claims.aud)],
            [t("developers.token.claim_client"), words(claims.client_id ?? claims.azp)],
            [t("developers.token.claim_scope"), words(claims.scope)],
            [t("developers.token.claim_iat"), timeWords(claims.iat)],
            [t("developers.token.claim_exp"), timeWords(claims.exp)],
          ]}
        />
        <Code label={t("developers.token.header")} text={JSON.stringify(header, null, 2)} />
        <Code label={t("developers.token.claims")} text={JSON.stringify(claims, null, 2)} />
      </Section>
    </>
  );
}

function timeWords(seconds: unknown): string {
  if (typeof seconds !== "number" || !Number.isFinite(seconds) || Math.abs(seconds) > 8e12) return "";
  const at = new Date(seconds * 1000);
  return `${formatTime(at)} (${formatAgo(at)})`;
}
