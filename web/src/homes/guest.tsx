/** Invite a person to a home, or change what a person of the home may use, and when. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { t } from "../app/i18n";
import { toInstant, toLocal } from "../app/local_time";
import { Button } from "../parts/button";
import { Dialog } from "../parts/dialog";
import { Field } from "../parts/field";
import { toast } from "../parts/toast";
import type { Home, Limits } from "./model";

/** The person whose limits are changed. Without an address, a new person is invited. */
export interface GuestOf {
  readonly email: string;
  readonly limits: Limits | null;
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

export function Guest({ home, of, onClose }: GuestProps) {
  const { limits } = of;
  const [email, setEmail] = useState(of.email);
  const [rooms, setRooms] = useState<ReadonlySet<string>>(new Set([...(limits?.ambients ?? []), ...roomsOf(home, limits?.floors ?? [])]));
  const [from, setFrom] = useState(toLocal(limits?.validFrom));
  const [until, setUntil] = useState(toLocal(limits?.validUntil));
  const [mistake, setMistake] = useState("");
  const modules = limits?.modules ?? [];
  const all = [...home.floors.flatMap((floor) => floor.rooms), ...home.rooms];

  const save = async (): Promise<void> => {
    if (!/^\S+@\S+$/.test(email.trim())) return setMistake(t("homes.people.no_email"));
    const isLimited = rooms.size > 0 || modules.length > 0 || from || until;
    const next = isLimited ? { ambients: [...rooms], modules, validFrom: toInstant(from), validUntil: toInstant(until) } : null;
    if (of.email) {
      await api.patch(`/home/v1/homes/${home.id}/people/${encodeURIComponent(of.email)}`, { limits: next });
    } else {
      const body = { email: email.trim(), limits: next };
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
  return (
    <Dialog title={of.email ? t("homes.people.change_of", { email: of.email }) : t("homes.people.invite")} onClose={() => onClose(false)}>
      {!of.email && (
        <Field label={t("homes.people.email")} hint={t("homes.people.email_hint")} type="email" autocomplete="off" maxLength={254} value={email} mistake={mistake} onInput={setEmail} />
      )}
      <fieldset class="rooms">
        <legend>{t("homes.people.rooms")}</legend>
        <p class="hint">{t("homes.people.rooms_hint")}</p>
        {all.map((room) => (
          <label key={room.id} class="choice">
            <input type="checkbox" checked={rooms.has(room.id)} onChange={(event) => toggle(room.id, event.currentTarget.checked)} />
            <span>{room.name}</span>
          </label>
        ))}
      </fieldset>
      <div class="period">
        <Field label={t("homes.people.begin")} type="datetime-local" value={from} onInput={setFrom} />
        <Field label={t("homes.people.end")} type="datetime-local" value={until} onInput={setUntil} />
      </div>
      <div class="buttons">
        <Button look="primary" onClick={save}>
          {of.email ? t("homes.people.save") : t("homes.people.invite")}
        </Button>
        <Button onClick={() => onClose(false)}>{t("common.cancel")}</Button>
      </div>
    </Dialog>
  );
}

/** The rooms of floors: a limit to a floor is shown as a limit to its rooms. */
function roomsOf(home: Home, floors: readonly string[]): readonly string[] {
  return home.floors.filter(({ id }) => floors.includes(id)).flatMap((floor) => floor.rooms.map(({ id }) => id));
}
