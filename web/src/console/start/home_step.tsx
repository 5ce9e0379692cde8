/** The first home: by its name and rooms, or from an estate file that is checked while the person types. */

import { useRef, useState } from "preact/hooks";
import { api } from "../../app/api";
import { t } from "../../app/i18n";
import { OWN_ZONE } from "../../app/local_time";
import { person } from "../../app/session";
import { Block } from "../../kit/form";
import { MANAGE, readList } from "../../kit/load";
import { Button } from "../../parts/button";
import { Field, Select } from "../../parts/field";
import { Notice } from "../../parts/notice";
import { CodeField } from "../estate/code_field";
import type { Plant } from "../model";
import { readContent } from "../rooms";
import { valueWords } from "../values";
import { StepForm } from "./step_form";

const TYPES = ["house", "hotel", "office", "hospital"] as const;

/** `home` is the home that was created before, or empty. */
export function HomeStep({ home, onDone }: { home: string; onDone: (home: string) => void }) {
  const [way, setWay] = useState<"rooms" | "file">("rooms");
  const [another, setAnother] = useState(!home);
  if (!another) {
    return (
      <Notice kind="info" title={t("console.start.home.exists")}>
        <div class="buttons">
          <Button look="primary" onClick={() => onDone(home)}>
            {t("console.start.home.continue")}
          </Button>
          <Button onClick={() => setAnother(true)}>{t("console.start.home.another")}</Button>
        </div>
      </Notice>
    );
  }
  return (
    <>
      <Select label={t("console.start.home.way")} value={way} options={(["rooms", "file"] as const).map((one) => [one, t(`console.start.home.${one}`)] as const)} onChange={setWay} />
      {way === "rooms" ? <ByRooms onDone={onDone} /> : <FromFile onDone={onDone} />}
    </>
  );
}

function ByRooms({ onDone }: { onDone: (home: string) => void }) {
  const [name, setName] = useState(t("console.start.home.first_name"));
  const [type, setType] = useState<(typeof TYPES)[number]>("house");
  const [owner, setOwner] = useState(person.value?.email ?? "");
  const [rooms, setRooms] = useState(t("console.start.home.first_rooms"));
  // If a later request fails, another attempt continues with the home that exists.
  const created = useRef<Plant | null>(null);
  const create = async (): Promise<void> => {
    const home = { name: name.trim(), type, owner: owner.trim() };
    const plant = created.current ? await api.patch<Plant>(`${MANAGE}/plants/${created.current.id}`, home) : await api.post<Plant>(`${MANAGE}/plants`, home);
    created.current = plant;
    // The gateway may not know the name of this browser's time zone. The home works without it.
    await api.patch(`${MANAGE}/plants/${plant.id}`, { timeZone: OWN_ZONE }).catch(() => undefined);
    const { ambients } = await readContent(plant.id);
    const existing = new Set(ambients.map((room) => room.name));
    for (const room of new Set(rooms.split("\n").map((line) => line.trim()).filter(Boolean))) {
      if (!existing.has(room)) await api.post(`${MANAGE}/plants/${plant.id}/ambients`, { name: room });
    }
    onDone(plant.id);
  };
  return (
    <StepForm submit={t("console.start.home.create")} onSubmit={create}>
      <Field label={t("console.name")} value={name} onInput={setName} required maxLength={50} />
      <Select label={t("console.plants.type")} value={type} options={TYPES.map((one) => [one, valueWords("planttype", one)] as const)} onChange={setType} />
      <Field label={t("console.start.home.owner")} hint={t("console.start.home.owner_about")} type="email" value={owner} onInput={setOwner} required />
      <Block label={t("console.start.home.room_names")} hint={t("common.one_per_line")} rows={5} value={rooms} onInput={setRooms} />
    </StepForm>
  );
}

function FromFile({ onDone }: { onDone: (home: string) => void }) {
  const [first] = useState({ text: "" });
  const [text, setText] = useState("");
  const [mistakes, setMistakes] = useState<number | null>(null);
  const importIt = async (): Promise<void> => {
    await api.post(`${MANAGE}/estate/import`, { document: text }, { timeout: 60_000 });
    const { items } = await readList<Plant>("/plants");
    onDone(items[0]?.id ?? "");
  };
  return (
    <StepForm submit={t("console.estate.import")} disabled={mistakes !== 0} onSubmit={importIt}>
      <CodeField document={first} onChange={setText} onChecked={setMistakes} />
    </StepForm>
  );
}
