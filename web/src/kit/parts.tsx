/** Parts of pages: the head of a page, sections, facts, questions before a change, and secrets. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { formatClock, formatNumber, formatTime, t } from "../app/i18n";
import { Button } from "../parts/button";
import { Dialog, DialogButtons } from "../parts/dialog";
import type { IconName } from "../parts/icons";
import type { Loaded } from "../parts/loaded";
import { PageTitle } from "../parts/page_title";
import { toast } from "../parts/toast";
import { FormDialog, type Fields, type Values } from "./form";

interface HeadProps {
  readonly title: string;
  readonly about?: ComponentChildren;
  /** Pages above this one: path and title. */
  readonly above?: readonly (readonly [string, string])[];
  readonly children?: ComponentChildren;
}

export function Head({ title, about, above = [], children }: HeadProps) {
  return (
    <header class="page-head">
      <div>
        {above.length > 0 && (
          <p class="crumbs">
            {above.map(([path, words]) => (
              <a key={path} href={path}>
                {words}
              </a>
            ))}
          </p>
        )}
        <PageTitle words={title} of={above.at(-1)?.[1]} />
        {about && <div class="soft">{about}</div>}
      </div>
      {children && <div class="head-actions">{children}</div>}
    </header>
  );
}

interface SectionProps {
  /** For links to this section. */
  readonly id?: string;
  readonly title: string;
  readonly about?: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Section({ id, title, about, actions, children }: SectionProps) {
  return (
    <section class="section" id={id} aria-label={title}>
      <header>
        <div>
          <h2>{title}</h2>
          {about && <p class="soft">{about}</p>}
        </div>
        {actions && <div class="head-actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}

/** Names and values. Facts without a value are left out. */
export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== null && value !== "" && value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

interface FormButtonProps {
  readonly label: string;
  readonly title?: string;
  readonly about?: string;
  readonly icon?: IconName;
  readonly look?: "plain" | "primary" | "danger" | "quiet";
  readonly fields: Fields;
  readonly submit?: string;
  readonly onSubmit: (values: Values) => Promise<unknown>;
}

/** A button that opens a form, or only a question if there are no fields. */
export function FormButton({ label, title = label, icon, look = "plain", submit = label, ...form }: FormButtonProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button look={look} {...(icon ? { icon } : {})} onClick={() => setOpen(true)}>
        {label}
      </Button>
      {open && <FormDialog {...form} title={title} submit={submit} danger={look === "danger"} onClose={() => setOpen(false)} />}
    </>
  );
}

/** A change that cannot be undone: it asks first. */
export function ConfirmButton({ label, question, look = "danger", onConfirm }: { label: string; question: string; look?: "danger" | "plain" | "primary"; onConfirm: () => Promise<unknown> }) {
  return <FormButton label={label} about={question} look={look} fields={[]} onSubmit={onConfirm} />;
}

export interface Secret {
  readonly title: string;
  readonly value: string;
  readonly about: string;
}

/** A secret that the gateway shows only once. */
export function SecretDialog({ secret, share = false, onClose }: { secret: Secret; share?: boolean; onClose: () => void }) {
  return (
    <Dialog title={secret.title} onClose={onClose}>
      <p>{secret.about}</p>
      <p class="secret">
        <code>{secret.value}</code>
      </p>
      <DialogButtons>
        <CopyButton look="primary" value={secret.value} />
        {share && <ShareButton url={secret.value} />}
        <Button onClick={onClose}>{t("common.stored")}</Button>
      </DialogButtons>
    </Dialog>
  );
}

/** Copies a text. Browsers offer the clipboard only over HTTPS and on this machine, so elsewhere there is no button. */
export function CopyButton({ value, look = "quiet" }: { value: string; look?: "quiet" | "primary" }) {
  if (!isSecureContext) return null;
  return (
    <Button
      look={look}
      icon="copy"
      onClick={async () => {
        await navigator.clipboard.writeText(value);
        toast(t("common.copied"));
      }}
    >
      {t("common.copy")}
    </Button>
  );
}

/** Sends a link with another app of the device, where the browser offers this. */
function ShareButton({ url }: { url: string }) {
  if (!("share" in navigator)) return null;
  const share = async (): Promise<void> => {
    try {
      await navigator.share({ url });
    } catch (error) {
      // The person closed the list of apps: that is not a failure.
      if (!(error instanceof DOMException && error.name === "AbortError")) throw error;
    }
  };
  return <Button onClick={share}>{t("common.share")}</Button>;
}

/** The counts of calls in a list of keys are soon out of date: the list is read again regularly, and the time of the count is shown. */
export function Counted({ list, seconds }: { list: Loaded<readonly unknown[]>; seconds: number }) {
  useRepeat(list.reload, seconds);
  if (!list.at) return null;
  return <p class="soft">{t("common.counted", { time: formatClock(list.at), seconds: formatNumber(seconds) })}</p>;
}

/** A text with a button that copies it. */
export function Copyable({ value }: { value: string }) {
  return (
    <>
      <code>{value}</code> <CopyButton value={value} />
    </>
  );
}

/** A time in words. The time zero means that nobody knows when it was. */
export function when(at: string | null | undefined): string {
  const time = new Date(at ?? 0);
  return time.getTime() ? formatTime(time) : "";
}

/** Calls again and again while the page is visible, but not before the last call has ended. */
export function useRepeat(run: () => Promise<unknown>, seconds: number): void {
  useEffect(() => {
    let running = false;
    const timer = setInterval(() => {
      if (running || document.visibilityState !== "visible") return;
      running = true;
      void run().finally(() => (running = false));
    }, seconds * 1000);
    return () => clearInterval(timer);
  }, [run, seconds]);
}
