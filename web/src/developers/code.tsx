/** Code with a button to copy it, and a call in each language. */

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { t } from "../app/i18n";
import { accessToken, person } from "../app/session";
import { Button } from "../parts/button";
import { toast } from "../parts/toast";
import { withToken, type Call } from "./call";
import { CODE_LANGUAGES, writeCode, type CodeLanguage } from "./snippets";

/** Browsers offer the clipboard only over HTTPS and on this machine. */
async function copy(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  toast(t("common.copied"));
}

interface CodeProps {
  readonly label: string;
  readonly text: string;
  /** The text for the clipboard, if it is not the shown one. */
  readonly copied?: () => Promise<string>;
  readonly tools?: ComponentChildren;
}

export function Code({ label, text, copied, tools }: CodeProps) {
  return (
    <figure class="code">
      <figcaption>
        <span class="code-label">{label}</span>
        {tools}
        {isSecureContext && (
          <Button look="quiet" icon="copy" label={`${label}: ${t("common.copy")}`} onClick={async () => copy(copied ? await copied() : text)}>
            {t("common.copy")}
          </Button>
        )}
      </figcaption>
      {/* A keyboard scrolls the code when it has the focus. */}
      <pre tabIndex={0} role="group" aria-label={label}>
        <code>{text}</code>
      </pre>
    </figure>
  );
}

const chosen = signal<CodeLanguage>("curl");

/** The token of the person while the reader wants to see it, or null. */
export const shownToken = signal<string | null>(null);

/** Shows or hides the token in all calls of the portal. */
export function TokenButton() {
  const shown = shownToken.value !== null;
  return (
    <Button
      look="quiet"
      onClick={async () => {
        shownToken.value = shown ? null : await accessToken();
      }}
    >
      {shown ? t("developers.hide_token") : t("developers.show_token")}
    </Button>
  );
}

/** The call in the languages. The token is hidden until the reader wants to see it; a copy has it. */
export function CallCode({ call, authorized = true }: { call: Call; authorized?: boolean }) {
  const language = chosen.value;
  const withPerson = authorized && person.value !== null;
  const shown = authorized ? withToken(call, withPerson ? shownToken.value : null) : call;
  return (
    <div class="call-code">
      <div class="choice" role="group" aria-label={t("developers.language")}>
        {Object.entries(CODE_LANGUAGES).map(([code, name]) => (
          <Button key={code} look="quiet" pressed={code === language} onClick={() => void (chosen.value = code as CodeLanguage)}>
            {name}
          </Button>
        ))}
      </div>
      <Code
        label={CODE_LANGUAGES[language]}
        text={writeCode(language, shown)}
        copied={async () => writeCode(language, withPerson ? withToken(call, await accessToken()) : shown)}
        tools={withPerson && <TokenButton />}
      />
    </div>
  );
}
