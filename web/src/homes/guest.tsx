/** Invite a person to a home, or change what a person of the home may use, and when. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { api } from "../app/api";
import { t } from "../app/i18n";
import type { Limits } from "../app/limits";
import { loginOf } from "../app/login_name";
import { toInstant, toLocal } from "../app/local_time";
import { person } from "../app/session";
import { SecretDialog } from "../kit/parts";
import { Button } from "../parts/button";
import { Dialog, DialogButtons } from "../parts/dialog";
import { Field } from "../parts/field";
import { toast } from "../parts/toast";
import { roomsOf, type Home } from "./model";
import { ZoneHint, zoneOf } from "./zone";

/** The person whose limits are changed. Without an address, a new person is invited, by e-mail or by link. */
export interface GuestOf {
  readonly email: string;
  readonly limits: Limits | null;
  readonly byLink?: boolean;
}

interface GuestProps {
  readonly home: Home;
  readonly of: GuestOf;
  readonly onClose: (changed: boolean) => void;
}

interface InvitationResult {
  readonly outcome: "member" | "invited";
  readonly mailed: boolean;
}

/** The key of the text about an entry that is not sent. */
type Mistake = "no_email" | "no_room" | "bad_end";

export function Guest({ home, of, onClose }: GuestProps) {
  const { limits } = of;
  const zone = zoneOf(home);
  const id = useId();
  const [email, setEmail] = useState(of.email);
  const [note, setNote] = useState("");
  const [rooms, setRooms] = useState<ReadonlySet<string>>(new Set([...(limits?.ambients ?? []), ...roomsOnFloors(home, limits?.floors ?? [])]));
  const modules = limits?.modules ?? [];
  const [limited, setLimited] = useState(rooms.size + modules.length + (limits?.floors.length ?? 0) > 0);
  const [from, setFrom] = useState(toLocal(limits?.validFrom, zone));
  const [until, setUntil] = useState(toLocal(limits?.validUntil, zone));
  const [mistake, setMistake] = useState<{ readonly key: Mistake } | null>(null);
  const entries = useRef<HTMLDivElement>(null);
  useEffect(() => entries.current?.querySelector(".problem")?.scrollIntoView({ block: "center" }), [mistake]);
  const [link, setLink] = useState("");

  const save = async (): Promise<void> => {
    if (!of.byLink && !/^\S+@\S+$/.test(email.trim())) return setMistake({ key: "no_email" });
    // Limits without a place would open the whole home.
    if (limited && rooms.size + modules.length === 0) return setMistake({ key: "no_room" });
    const [validFrom, validUntil] = [toInstant(from, zone), toInstant(until, zone)];
    if (validUntil && (new Date(validUntil) <= new Date() || (validFrom && validUntil <= validFrom))) return setMistake({ key: "bad_end" });
    setMistake(null);
    const places = limited ? { ambients: [...rooms], modules } : {};
    const next = limited || from || until ? { ...places, validFrom, validUntil } : null;
    if (of.email) {
      await api.patch(`/home/v1/homes/${home.id}/people/${encodeURIComponent(of.email)}`, { limits: next });
      toast(t("homes.people.changed", { email: loginOf(of.email) }));
    } else if (of.byLink) {
      const { url } = await api.post<{ url: string }>(`/home/v1/homes/${home.id}/invitation-links`, { note: note.trim(), limits: next });
      return setLink(url);
    } else {
      const body = { email: email.trim(), limits: next };
      if (person.value?.operator) {
        // The management API also returns the link, for an operator without a mail server.
        const { link } = await api.post<{ link: { url: string | null; mailed: boolean } | null }>(`/manage/v1/plants/${home.id}/invitations`, body);
        if (link?.url) return setLink(link.url);
        toast(t(link ? "homes.people.mailed" : "homes.people.is_member", { email: body.email }));
        return onClose(true);
      }
      const { outcome, mailed } = await api.post<InvitationResult>(`/home/v1/homes/${home.id}/invitations`, body);
      toast(t(outcome === "member" ? "homes.people.is_member" : mailed ? "homes.people.mailed" : "homes.people.not_mailed", { email: body.email }));
    }
    onClose(true);
  };
  const toggle = (room: string, chosen: boolean): void => {
    const next = new Set(rooms);
    if (chosen) next.add(room);
    else next.delete(room);
    setRooms(next);
  };
  const words = (key: Mistake): string => (mistake?.key === key ? t(`homes.people.${key}`) : "");
  const noRoom = words("no_room");
  if (link) {
    const about = of.byLink ? t("homes.people.by_link_made") : t("homes.people.link_about", { email: email.trim() });
    return <SecretDialog secret={{ title: t("homes.people.link"), about, value: link }} share={of.byLink === true} onClose={() => onClose(true)} />;
  }
  const invite = t(of.byLink ? "homes.people.by_link" : "homes.people.invite");
  return (
    <Dialog title={of.email ? t("homes.people.change_of", { email: loginOf(of.email) }) : invite} onClose={() => onClose(false)}>
      <div ref={entries}>
        {of.byLink && <p>{t("homes.people.by_link_about")}</p>}
        {of.byLink && <Field label={t("homes.people.note")} hint={t("homes.people.note_hint")} autocomplete="off" maxLength={100} value={note} onInput={setNote} />}
        {!of.email && !of.byLink && (
          <Field label={t("homes.people.email")} hint={t("homes.people.email_hint")} type="email" autocomplete="off" maxLength={254} value={email} mistake={words("no_email")} onInput={setEmail} />
        )}
        <fieldset class="rooms" aria-describedby={noRoom ? id : undefined}>
          <legend>{t("homes.people.rooms")}</legend>
          <label class="wide">
            <input type="radio" name={id} checked={!limited} onChange={() => setLimited(false)} />
            <span>{t("homes.people.all_rooms")}</span>
          </label>
          <label class="wide">
            <input type="radio" name={id} checked={limited} onChange={() => setLimited(true)} />
            <span>{t("homes.people.only_rooms")}</span>
          </label>
          {noRoom && (
            <p class="problem" id={id} role="alert">
              {noRoom}
            </p>
          )}
          {limited &&
            roomsOf(home).map((room) => (
              <label key={room.id}>
                <input type="checkbox" checked={rooms.has(room.id)} onChange={(event) => toggle(room.id, event.currentTarget.checked)} />
                <span>{room.name}</span>
              </label>
            ))}
        </fieldset>
        <div class="period">
          <Field label={t("homes.people.begin")} type="datetime-local" value={from} onInput={setFrom} />
          <Field label={t("homes.people.end")} type="datetime-local" value={until} mistake={words("bad_end")} onInput={setUntil} />
        </div>
        <ZoneHint zone={zone} />
      </div>
      <DialogButtons>
        <Button look="primary" onClick={save}>
          {of.email ? t("homes.people.save") : of.byLink ? t("homes.people.by_link_make") : invite}
        </Button>
        <Button onClick={() => onClose(false)}>{t("common.cancel")}</Button>
      </DialogButtons>
    </Dialog>
  );
}

/** The rooms of floors: a limit to a floor is shown as a limit to its rooms. */
function roomsOnFloors(home: Home, floors: readonly string[]): readonly string[] {
  return home.floors.filter(({ id }) => floors.includes(id)).flatMap((floor) => floor.rooms.map(({ id }) => id));
}
