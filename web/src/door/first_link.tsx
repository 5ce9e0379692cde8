/** For a gateway that nobody can operate yet: takes the one-time link that `domogate serve` or `domogate init` prints. */

import { useState } from "preact/hooks";
import { t } from "../app/i18n";
import { Field } from "../parts/field";

const PASSWORD = "/auth/password";
const FIRST_OPERATOR = "/auth/first-operator";

/** The page of the link on this gateway, or null. The link may name another address of the same gateway. */
export function readLink(text: string): string | null {
  try {
    const link = new URL(text.trim(), location.origin);
    const token = link.searchParams.get("token") ?? new RegExp(`^${PASSWORD}/([^/]+)$`).exec(link.pathname)?.[1];
    const path = [FIRST_OPERATOR, PASSWORD].find((one) => link.pathname === one || link.pathname.startsWith(`${one}/`));
    return token && path ? `${path}?${new URLSearchParams({ token })}` : null;
  } catch {
    return null;
  }
}

export function FirstLink() {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState(false);
  const open = (): void => {
    const page = readLink(text);
    if (page) location.assign(page);
    else setWrong(true);
  };
  return (
    <section class="panel" aria-labelledby="first-link">
      <h2 id="first-link">{t("door.first.title")}</h2>
      <p>{t("door.first.about")}</p>
      <p>
        <code>domogate init --email you@example.com</code>
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          open();
        }}
      >
        <Field label={t("door.first.link")} value={text} onInput={setText} autocomplete="off" required {...(wrong ? { mistake: t("door.first.wrong") } : {})} />
        <button type="submit" class="primary">
          {t("door.first.open")}
        </button>
      </form>
    </section>
  );
}
