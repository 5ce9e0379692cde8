/** Messages inside a page: something to know, to fix, or to wait for. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Failure, PageLink } from "../app/api";
import { t } from "../app/i18n";
import { Icon } from "./icons";

interface NoticeProps {
  readonly kind?: "info" | "warn" | "alarm";
  readonly title: string;
  readonly children?: ComponentChildren;
}

export function Notice({ kind = "info", title, children }: NoticeProps) {
  return (
    <div class={`notice ${kind}`} role={kind === "alarm" ? "alert" : "status"}>
      <Icon name={kind === "info" ? "check" : "warning"} />
      <div>
        <p class="notice-title">{title}</p>
        {children}
      </div>
    </div>
  );
}

/** A link to the page on which the person can solve a problem. */
export function Solution({ of }: { of: PageLink | null | undefined }) {
  if (!of) return null;
  return (
    <p>
      <a class="button primary" href={of[0]}>
        {of[1]}
      </a>
    </p>
  );
}

/** Why something failed. Without a failure it shows nothing. */
export function FailureNotice({ of }: { of: Failure | null }) {
  if (!of) return null;
  return (
    <Notice kind="alarm" title={of.words}>
      <Solution of={of.solution} />
    </Notice>
  );
}

/** Shown while data is loaded. It appears only after 200 ms, so that a fast answer does not flicker. */
export function Loading() {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 200);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="loading" role="status">
      {slow && (
        <>
          <span class="spinner" aria-hidden="true" /> {t("common.loading")}
        </>
      )}
    </p>
  );
}

/** Shown instead of a list that has no entries. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}
