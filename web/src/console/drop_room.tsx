/** A room on which a person drops modules, and the list of rooms for the keyboard. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count, formatNumber, t } from "../app/i18n";
import { Button } from "../parts/button";
import { roomsOf, type Content } from "./rooms";

/** The type of the dragged data, which is the id of a module. */
export const MODULE = "application/x-domogate-module";

/** A room with more modules is as wide as the page. */
const NARROW_UP_TO = 12;
/** A room with more modules shows the others only when the person wants them. */
const SHOWN_AT_FIRST = 48;

interface DropRoomProps {
  readonly name: string;
  readonly onDrop: (module: string) => void;
  readonly actions: ComponentChildren;
  readonly children: readonly ComponentChildren[];
}

export function DropRoom({ name, onDrop, actions, children }: DropRoomProps) {
  const [over, setOver] = useState(false);
  const [all, setAll] = useState(false);
  const shown = all ? children : children.slice(0, SHOWN_AT_FIRST);
  return (
    <section
      class={["drop-room", over && "over", children.length > NARROW_UP_TO && "large"].filter(Boolean).join(" ")}
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
        <h3>
          {name} {children.length > 0 && <span class="soft">{count("console.rooms.modules", children.length)}</span>}
        </h3>
        <span>{actions}</span>
      </header>
      {children.length ? <ul>{shown}</ul> : <p class="soft">{t("console.rooms.empty")}</p>}
      {shown.length < children.length && (
        <Button look="quiet" onClick={() => setAll(true)}>
          {t("console.rooms.show_all", { number: formatNumber(children.length) })}
        </Button>
      )}
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
