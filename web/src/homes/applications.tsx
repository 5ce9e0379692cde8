/** The applications that the person let in, with their webhooks for one home. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { formatDate, formatTime, t } from "../app/i18n";
import { Button } from "../parts/button";
import { Dialog, DialogButtons } from "../parts/dialog";
import { List, Row } from "../parts/list";
import { Show, useLoad } from "../parts/loaded";
import type { Application, Webhook } from "./model";

/** A question before access ends. */
interface Ending {
  readonly title: string;
  readonly about: string;
  readonly path: string;
}

export function Applications({ home }: { home: string }) {
  const listed = useLoad(home, (signal) => api.get<{ items: readonly Application[] }>("/home/v1/applications", { signal }));
  const [ending, setEnding] = useState<Ending | null>(null);
  const end = async (path: string): Promise<void> => {
    await api.delete(path);
    setEnding(null);
    await listed.reload();
  };
  const endApplication = ({ clientId, name }: Application) => (
    <Button
      look="quiet"
      label={t("homes.applications.revoke_of", { name })}
      onClick={() => setEnding({ title: t("homes.applications.revoke_of", { name }), about: t("homes.applications.revoke_about"), path: `/home/v1/applications/${encodeURIComponent(clientId)}` })}
    >
      {t("homes.applications.revoke")}
    </Button>
  );
  const endWebhook = ({ id, host }: Webhook) => (
    <Button
      look="quiet"
      label={t("homes.applications.end_of", { host })}
      onClick={() => setEnding({ title: t("homes.applications.end_of", { host }), about: t("homes.applications.end_about"), path: `/home/v1/webhooks/${id}` })}
    >
      {t("homes.applications.end")}
    </Button>
  );
  return (
    <section class="part">
      <h2>{t("homes.applications.title")}</h2>
      <Show of={listed}>
        {({ items }) =>
          items.some(({ current }) => !current) ? (
            <List>
              {items
                .filter(({ current }) => !current)
                .flatMap((application) => [
                  <Row
                    key={application.clientId}
                    icon="key"
                    title={application.name}
                    about={t("homes.applications.since", { date: formatDate(new Date(application.since)) })}
                    end={endApplication(application)}
                  />,
                  ...application.webhooks
                    .filter(({ homeId }) => homeId === home)
                    .map((webhook) => (
                      <Row key={webhook.id} icon="out" title={t("homes.applications.sends", { host: webhook.host })} about={webhookWords(webhook)} end={endWebhook(webhook)} />
                    )),
                ])}
            </List>
          ) : (
            <p class="soft">{t("homes.applications.none")}</p>
          )
        }
      </Show>
      {ending && (
        <Dialog title={ending.title} onClose={() => setEnding(null)}>
          <p>{ending.about}</p>
          <DialogButtons>
            <Button look="danger" onClick={() => end(ending.path)}>
              {t("homes.applications.confirm")}
            </Button>
            <Button onClick={() => setEnding(null)}>{t("common.cancel")}</Button>
          </DialogButtons>
        </Dialog>
      )}
    </section>
  );
}

/** Events can wait although the receiver works: it refused an event, or the person must first renew the password or accept the terms. */
export function webhookWords({ failingSince, nextAttemptAt }: Pick<Webhook, "failingSince" | "nextAttemptAt">): string {
  if (failingSince) return t("homes.applications.failing", { time: formatTime(new Date(failingSince)) });
  return t(nextAttemptAt ? "homes.applications.waiting" : "homes.applications.working");
}
