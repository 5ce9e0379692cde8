/** The open invitation links of a home. The owner can withdraw them. */

import { api } from "../app/api";
import { t } from "../app/i18n";
import { Button } from "../parts/button";
import { List, Row } from "../parts/list";
import { Show, useLoad } from "../parts/loaded";
import { toast } from "../parts/toast";
import { limitWords, timeWords } from "./limit_words";
import type { Home, InvitationLink } from "./model";

export function InvitationLinks({ home }: { home: Home }) {
  const path = `/home/v1/homes/${home.id}/invitation-links`;
  const links = useLoad(path, (signal) => api.get<{ items: readonly InvitationLink[] }>(path, { signal }), [home]);
  const withdraw = async (id: string): Promise<void> => {
    await api.delete(`${path}/${id}`);
    toast(t("homes.people.link_withdrawn"));
    await links.reload();
  };
  return (
    <Show of={links}>
      {({ items }) =>
        items.length > 0 && (
          <section class="part">
            <h2>{t("homes.people.links")}</h2>
            <List>
              {items.map(({ id, note, limits, expiresAt }) => (
                <Row
                  key={id}
                  icon="link"
                  title={note || t("homes.people.link_unnamed")}
                  about={`${t("homes.people.link_until", { time: timeWords(home, expiresAt) })} · ${limitWords(home, limits)}`}
                  end={
                    <Button look="quiet" label={t("homes.people.link_withdraw_of", { note: note || t("homes.people.link_unnamed") })} onClick={() => withdraw(id)}>
                      {t("homes.people.withdraw")}
                    </Button>
                  }
                />
              ))}
            </List>
          </section>
        )
      }
    </Show>
  );
}
