/** The floors and rooms of a plant with their modules. A module is moved by drag, or with the list of rooms beside it. */

import { api, wordsFor } from "../app/api";
import { t } from "../app/i18n";
import { text, type Values } from "../kit/form";
import { MANAGE, readAll } from "../kit/load";
import { ConfirmButton, FormButton, Head, Section } from "../kit/parts";
import { Show, useLoad } from "../parts/loaded";
import { toast } from "../parts/toast";
import type { Module, Plant } from "./model";
import { DropRoom, MODULE, RoomSelect } from "./drop_room";
import { readContent, type Content, type Floor, type Room } from "./rooms";
import { UndoNotice, useUndo, type Undo } from "./undo";
import { valueWords } from "./values";

interface Loadable {
  readonly plant: Plant;
  readonly content: Content;
  readonly modules: readonly Module[];
}

export function RoomsPage({ id }: { id: string }) {
  const path = `${MANAGE}/plants/${id}`;
  const loaded = useLoad(`rooms ${id}`, async (): Promise<Loadable> => {
    const [plant, content, modules] = await Promise.all([api.get<Plant>(path), readContent(id), readAll<Module>(`/plants/${id}/modules`)]);
    return { plant, content, modules };
  });
  const undo = useUndo(loaded.reload);
  const addFloor = (values: Values): Promise<unknown> => api.post(`${path}/floors`, { name: text(values, "name") }).then(loaded.reload);
  const addRoom = (values: Values): Promise<unknown> => api.post(`${path}/ambients`, { name: text(values, "name"), floorId: text(values, "floorId") || null }).then(loaded.reload);
  return (
    <Show of={loaded}>
      {({ plant, content, modules }) => (
        <>
          <Head
            title={t("console.rooms.title")}
            about={t("console.rooms.about")}
            above={[
              ["/console/plants", t("console.plants.title")],
              [`/console/plants/${id}`, plant.name],
            ]}
          >
            <FormButton label={t("console.rooms.add")} icon="add" look="primary" fields={[NAME(), floorField(content, null)]} onSubmit={addRoom} />
            <FormButton label={t("console.rooms.add_floor")} icon="add" fields={[NAME()]} onSubmit={addFloor} />
          </Head>
          <UndoNotice of={undo} />
          {content.floors.map((floor) => (
            <Section key={floor.id} title={floor.name} actions={<FloorActions floor={floor} path={path} undo={undo} onChanged={loaded.reload} />}>
              <Rooms rooms={floor.ambients} content={content} modules={modules} path={path} undo={undo} onChanged={loaded.reload} />
            </Section>
          ))}
          <Section title={t("console.rooms.no_floor")}>
            <Rooms rooms={[...content.ambients, null]} content={content} modules={modules} path={path} undo={undo} onChanged={loaded.reload} />
          </Section>
        </>
      )}
    </Show>
  );
}

const NAME = (value = "") => ({ kind: "text", name: "name", label: t("console.name"), required: true, value }) as const;

function floorField({ floors }: Content, value: string | null) {
  return { kind: "choice", name: "floorId", label: t("console.rooms.floor"), value: value ?? "", options: [["", t("console.rooms.no_floor")] as const, ...floors.map(({ id, name }) => [id, name] as const)] } as const;
}

function FloorActions({ floor, path, undo, onChanged }: { floor: Floor; path: string; undo: Undo; onChanged: () => Promise<void> }) {
  const own = `${path}/floors/${floor.id}`;
  return (
    <>
      <FormButton label={t("console.rooms.rename")} title={floor.name} submit={t("console.save")} look="quiet" fields={[NAME(floor.name)]} onSubmit={(values) => undo.change(own, { name: text(values, "name") }, t("console.rooms.changed", { name: floor.name }))} />
      {floor.ambients.length === 0 && <ConfirmButton label={t("console.delete")} question={t("console.rooms.delete_about", { name: floor.name })} onConfirm={() => api.delete(own).then(onChanged)} />}
    </>
  );
}

interface RoomsProps {
  /** null: the modules that are in no room. */
  readonly rooms: readonly (Room | null)[];
  readonly content: Content;
  readonly modules: readonly Module[];
  readonly path: string;
  readonly undo: Undo;
  readonly onChanged: () => Promise<void>;
}

function Rooms({ rooms, content, modules, path, undo, onChanged }: RoomsProps) {
  const move = async (id: string, ambientId: string | null): Promise<void> => {
    const module = modules.find((one) => one.id === id);
    if (!module || module.ambientId === ambientId) return;
    try {
      await undo.change(`${path}/modules/${id}`, { ambientId }, t("console.rooms.moved", { name: module.name }));
    } catch (error) {
      toast(wordsFor(error), "failed");
    }
  };
  return (
    <div class="rooms-grid">
      {rooms.map((room) => (
        <DropRoom key={room?.id ?? ""} name={room?.name ?? t("console.rooms.none")} onDrop={(id) => void move(id, room?.id ?? null)} actions={room && <RoomActions room={room} content={content} path={path} undo={undo} onChanged={onChanged} />}>
          {modules
            .filter(({ ambientId }) => ambientId === (room?.id ?? null))
            .map((module) => (
              <RoomModule key={module.id} module={module} content={content} path={path} onMove={(to) => void move(module.id, to)} />
            ))}
        </DropRoom>
      ))}
    </div>
  );
}

function RoomActions({ room, content, path, undo, onChanged }: { room: Room; content: Content; path: string; undo: Undo; onChanged: () => Promise<void> }) {
  const own = `${path}/ambients/${room.id}`;
  return (
    <>
      <FormButton
        label={t("console.change")}
        title={room.name}
        submit={t("console.save")}
        look="quiet"
        fields={[NAME(room.name), floorField(content, room.floorId)]}
        onSubmit={(values) => undo.change(own, { name: text(values, "name"), floorId: text(values, "floorId") || null }, t("console.rooms.changed", { name: room.name }))}
      />
      {room.modules === 0 && <ConfirmButton label={t("console.delete")} question={t("console.rooms.delete_about", { name: room.name })} onConfirm={() => api.delete(own).then(onChanged)} />}
    </>
  );
}

function RoomModule({ module, content, path, onMove }: { module: Module; content: Content; path: string; onMove: (to: string | null) => void }) {
  return (
    <li draggable onDragStart={(event) => event.dataTransfer?.setData(MODULE, module.id)}>
      <a draggable={false} href={path.replace(MANAGE, "/console").concat(`/modules/${module.id}`)}>{module.name}</a>
      <span class="soft">{valueWords("kind", module.kind)}</span>
      <RoomSelect label={t("console.rooms.move", { name: module.name })} content={content} value={module.ambientId} onChange={onMove} />
    </li>
  );
}
