/** A room on which a person drops modules, and the list of rooms for the keyboard. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { t } from "../app/i18n";
import { roomsOf, type Content } from "./rooms";

/** The type of the dragged data, which is the id of a module. */
export const MODULE = "application/x-domogate-module";

interface DropRoomProps {
  readonly name: string;
  readonly onDrop: (module: string) => void;
  readonly actions: ComponentChildren;
  readonly children: readonly ComponentChildren[];
}

export function DropRoom({ name, onDrop, actions, children }: DropRoomProps) {
  const [over, setOver] = useState(false);
  return (
    <section
      class={over ? "drop-room over" : "drop-room"}
      aria-label={name}
      onDragOver={(event) => {
        if (!event.dataTransfer?.types.includes(MODULE)) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onDrop(event.dataTransfer?.getData(MODULE) ?? "");
      }}
    >
      <header>
        <h3>{name}</h3>
        <span>{actions}</span>
      </header>
      {children.length ? <ul>{children}</ul> : <p class="soft">{t("console.rooms.empty")}</p>}
    </section>
  );
}

interface RoomSelectProps {
  readonly label: string;
  readonly content: Content;
  readonly value: string | null;
  readonly onChange: (room: string | null) => void;
}

export function RoomSelect({ label, content, value, onChange }: RoomSelectProps) {
  return (
    <select aria-label={label} value={value ?? ""} onChange={(event) => onChange(event.currentTarget.value || null)}>
      <option value="">{t("console.rooms.none")}</option>
      {roomsOf(content).map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
