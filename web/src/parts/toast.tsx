/** Short messages at the edge of the page, for example after a command failed. */

import { signal } from "@preact/signals";
import { t } from "../app/i18n";
import { Icon } from "./icons";

interface Toast {
  readonly id: number;
  readonly kind: "done" | "failed";
  readonly words: string;
}

const MOST = 3;
const SHOWN_FOR = 6_000;
const toasts = signal<readonly Toast[]>([]);
let last = 0;

/** Show a message. One that says "failed" stays until the person closes it. */
export function toast(words: string, kind: Toast["kind"] = "done"): void {
  const id = ++last;
  toasts.value = [...toasts.value, { id, kind, words }].slice(-MOST);
  if (kind === "done") setTimeout(() => dismiss(id), SHOWN_FOR);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="region" aria-label={t("common.messages")} aria-live="polite">
      {toasts.value.map(({ id, kind, words }) => (
        <div key={id} class={`toast ${kind}`}>
          <Icon name={kind === "done" ? "check" : "warning"} />
          <span>{words}</span>
          <button type="button" class="icon-button" aria-label={t("common.close")} onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
