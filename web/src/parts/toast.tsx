/** Short messages at the edge of the page, for example after a command failed. */

import { signal } from "@preact/signals";
import type { Failure, PageLink } from "../app/api";
import { t } from "../app/i18n";
import { Icon } from "./icons";

interface Toast {
  readonly id: number;
  readonly kind: "done" | "failed";
  readonly words: string;
  readonly link: PageLink | null;
}

const MOST = 3;
const SHOWN_FOR = 6_000;
const toasts = signal<readonly Toast[]>([]);
let last = 0;

/** Show a message. One that says "failed" stays until the person closes it. */
export function toast(words: string, kind: Toast["kind"] = "done", link: PageLink | null = null): void {
  const id = ++last;
  toasts.value = [...toasts.value, { id, kind, words, link }].slice(-MOST);
  if (kind === "done") setTimeout(() => dismiss(id), SHOWN_FOR);
}

/** Show why something failed, with a link to the page on which the person can solve it. */
export function toastFailure({ words, solution }: Failure): void {
  toast(words, "failed", solution);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="region" aria-label={t("common.messages")} aria-live="polite">
      {toasts.value.map(({ id, kind, words, link }) => (
        <div key={id} class={`toast ${kind}`}>
          <Icon name={kind === "done" ? "check" : "warning"} />
          <span>
            {words}{" "}
            {link && (
              <a href={link[0]} onClick={() => dismiss(id)}>
                {link[1]}
              </a>
            )}
          </span>
          <button type="button" class="icon-button" aria-label={t("common.close")} onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
