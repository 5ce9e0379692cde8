/** The people of a home, and the applications that the person let in. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { t } from "../app/i18n";
import type { Limits } from "../app/limits";
import { loginOf } from "../app/login_name";
import { go } from "../app/router";
import { Button } from "../parts/button";
import { Dialog, DialogButtons } from "../parts/dialog";
import { List, Row } from "../parts/list";
import { Show, useLoad } from "../parts/loaded";
import { Empty } from "../parts/notice";
import { toast } from "../parts/toast";
import { Applications } from "./applications";
import { Guest, type GuestOf } from "./guest";
import { Subpage } from "./head";
import { InvitationLinks } from "./invitation_links";
import { limitWords } from "./limit_words";
import type { Home, People } from "./model";
import type { OpenHome } from "./store";

export function PeoplePage({ open }: { open: OpenHome }) {
  const home = open.home.value;
  if (!home) return null;
  return (
    <Subpage home={home} current="people">
      {home.role === "owner" ? <HomePeople home={home} /> : <Membership home={home} />}
      <Applications home={home.id} />
    </Subpage>
  );
}

function HomePeople({ home }: { home: Home }) {
  const people = useLoad(home.id, (signal) => api.get<People>(`/home/v1/homes/${home.id}/people`, { signal }), [home]);
  const [guest, setGuest] = useState<GuestOf | null>(null);
  const [leaving, setLeaving] = useState<string | null>(null);
  const [links, setLinks] = useState(0);
  const withdraw = async (email: string): Promise<void> => {
    await api.delete(`/home/v1/homes/${home.id}/people/${encodeURIComponent(email)}`);
    setLeaving(null);
    toast(t("homes.people.withdrawn", { email: loginOf(email) }));
    await people.reload();
  };
  const ends = (email: string, limits: Limits | null) => (
    <div class="row-buttons">
      <Button look="quiet" label={t("homes.people.change_of", { email: loginOf(email) })} onClick={() => setGuest({ email, limits })}>
        {t("homes.people.change")}
      </Button>
      <Button look="quiet" label={t("homes.people.withdraw_of", { email: loginOf(email) })} onClick={() => setLeaving(email)}>
        {t("homes.people.withdraw")}
      </Button>
    </div>
  );
  return (
    <section class="part" aria-label={t("homes.people.title")}>
      <div class="buttons">
        <Button look="primary" icon="add" onClick={() => setGuest({ email: "", limits: null })}>
          {t("homes.people.invite")}
        </Button>
        <Button icon="link" onClick={() => setGuest({ email: "", limits: null, byLink: true })}>
          {t("homes.people.by_link")}
        </Button>
      </div>
      <Show of={people}>
        {({ owner, members, invited }) => (
          <List>
            <Row icon="person" title={owner.name || loginOf(owner.email)} about={t("homes.role.owner")} />
            {members.map(({ email, name, limits }) => (
              <Row key={email} icon="person" title={name || loginOf(email)} about={limitWords(home, limits)} end={ends(email, limits)} />
            ))}
            {invited.map(({ email, limits }) => (
              <Row key={email} icon="person" title={email} about={`${t("homes.people.invited")} · ${limitWords(home, limits)}`} end={ends(email, limits)} />
            ))}
          </List>
        )}
      </Show>
      <InvitationLinks key={links} home={home} />
      {guest && (
        <Guest
          home={home}
          of={guest}
          onClose={(changed) => {
            setGuest(null);
            if (changed) void people.reload();
            if (changed && guest.byLink) setLinks(links + 1);
          }}
        />
      )}
      {leaving && (
        <Dialog title={t("homes.people.withdraw_of", { email: loginOf(leaving) })} onClose={() => setLeaving(null)}>
          <p>{t("homes.people.withdraw_about")}</p>
          <DialogButtons>
            <Button look="danger" onClick={() => withdraw(leaving)}>
              {t("homes.people.withdraw")}
            </Button>
            <Button onClick={() => setLeaving(null)}>{t("common.cancel")}</Button>
          </DialogButtons>
        </Dialog>
      )}
    </section>
  );
}

/** A person who is not the owner sees only the own membership. */
function Membership({ home }: { home: Home }) {
  const [asked, setAsked] = useState(false);
  const leave = async (): Promise<void> => {
    await api.delete(`/home/v1/homes/${home.id}/membership`);
    go("/homes", { replace: true });
  };
  return (
    <section class="part" aria-label={t("homes.people.title")}>
      <Empty title={t("homes.people.owner_only")}>
        <p>{t("homes.people.own_role", { role: t(`homes.role.${home.role}`) })}</p>
        <Button look="danger" onClick={() => setAsked(true)}>
          {t("homes.people.leave")}
        </Button>
      </Empty>
      {asked && (
        <Dialog title={t("homes.people.leave")} onClose={() => setAsked(false)}>
          <p>{t("homes.people.leave_about")}</p>
          <DialogButtons>
            <Button look="danger" onClick={leave}>
              {t("homes.people.leave")}
            </Button>
            <Button onClick={() => setAsked(false)}>{t("common.cancel")}</Button>
          </DialogButtons>
        </Dialog>
      )}
    </section>
  );
}
