/** The floors and rooms of a plant with their modules and states. A module is moved by drag, or with the list of rooms beside it. */

import { useState } from "preact/hooks";
import { api, failureOf } from "../app/api";
import { t } from "../app/i18n";
import { Filters, find } from "../kit/filters";
import { text, type Values } from "../kit/form";
import { MANAGE, readAll } from "../kit/load";
import { ConfirmButton, FormButton, Head, Section, useRepeat } from "../kit/parts";
import { Show, useLoad } from "../parts/loaded";
import { Empty } from "../parts/notice";
import { toastFailure } from "../parts/toast";
import type { Module, Plant } from "./model";
import { DropRoom, MODULE, RoomSelect } from "./drop_room";
import { moduleFilters, moduleTexts, Reach, REFRESH, SHOWN_VALUES } from "./modules";
import { readContent, type Content, type Floor, type Room } from "./rooms";
import { stateText } from "./state";
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
  useRepeat(loaded.reload, REFRESH);
  const undo = useUndo(loaded.reload);
  const [words, setWords] = useState("");
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
          <Tree content={content} modules={modules} words={words} onWords={setWords} tools={{ path, content, undo, onChanged: loaded.reload }} />
        </>
      )}
    </Show>
  );
}

const NAME = (value = "") => ({ kind: "text", name: "name", label: t("console.name"), required: true, value }) as const;

function floorField({ floors }: Content, value: string | null) {
  return { kind: "choice", name: "floorId", label: t("console.rooms.floor"), value: value ?? "", options: [["", t("console.rooms.no_floor")] as const, ...floors.map(({ id, name }) => [id, name] as const)] } as const;
}

/** What the parts of the page need to change something. */
interface Tools {
  readonly path: string;
  readonly content: Content;
  readonly undo: Undo;
  readonly onChanged: () => Promise<void>;
}

interface TreeProps {
  readonly content: Content;
  readonly modules: readonly Module[];
  readonly words: string;
  readonly onWords: (words: string) => void;
  readonly tools: Tools;
}

/** The floors with their rooms and modules. If the person searches, only rooms in which something was found. */
function Tree({ content, modules, words, onWords, tools }: TreeProps) {
  const filters = moduleFilters();
  const found = find(modules, filters, words, moduleTexts);
  const byRoom = new Map<string | null, Module[]>();
  for (const module of found) {
    const others = byRoom.get(module.ambientId);
    if (others) others.push(module);
    else byRoom.set(module.ambientId, [module]);
  }
  const isWhole = found.length === modules.length;
  const offered = (rooms: readonly (Room | null)[]): readonly (Room | null)[] => rooms.filter((room) => isWhole || byRoom.has(room?.id ?? null));
  const move = async (id: string, ambientId: string | null): Promise<void> => {
    const module = modules.find((one) => one.id === id);
    if (!module || module.ambientId === ambientId) return;
    try {
      await tools.undo.change(`${tools.path}/modules/${id}`, { ambientId }, t("console.rooms.moved", { name: module.name }));
    } catch (error) {
      toastFailure(failureOf(error));
    }
  };
  const show = (rooms: readonly (Room | null)[]) => (
    <div class="rooms-grid">
      {rooms.map((room) => (
        <DropRoom key={room?.id ?? ""} name={room?.name ?? t("console.rooms.none")} onDrop={(id) => void move(id, room?.id ?? null)} actions={room && <RoomActions room={room} tools={tools} />}>
          {(byRoom.get(room?.id ?? null) ?? []).map((module) => (
            <RoomModule key={module.id} module={module} tools={tools} onMove={(to) => void move(module.id, to)} />
          ))}
        </DropRoom>
      ))}
    </div>
  );
  const elsewhere = offered([...content.ambients, null]);
  return (
    <>
      <Filters label={t("console.modules.title")} words={words} onWords={onWords} filters={filters} found={found.length} />
      {!isWhole && !found.length && <Empty title={t("common.nothing_found")} />}
      {content.floors
        .filter(({ ambients }) => isWhole || offered(ambients).length)
        .map((floor) => (
          <Section key={floor.id} title={floor.name} actions={<FloorActions floor={floor} tools={tools} />}>
            {show(offered(floor.ambients))}
          </Section>
        ))}
      {elsewhere.length > 0 && <Section title={t("console.rooms.no_floor")}>{show(elsewhere)}</Section>}
    </>
  );
}

function FloorActions({ floor, tools: { path, undo, onChanged } }: { floor: Floor; tools: Tools }) {
  const own = `${path}/floors/${floor.id}`;
  return (
    <>
      <FormButton label={t("console.rooms.rename")} title={floor.name} submit={t("console.save")} look="quiet" fields={[NAME(floor.name)]} onSubmit={(values) => undo.change(own, { name: text(values, "name") }, t("console.rooms.changed", { name: floor.name }))} />
      {floor.ambients.length === 0 && <ConfirmButton label={t("console.delete")} question={t("console.rooms.delete_about", { name: floor.name })} onConfirm={() => api.delete(own).then(onChanged)} />}
    </>
  );
}

function RoomActions({ room, tools: { path, content, undo, onChanged } }: { room: Room; tools: Tools }) {
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

function RoomModule({ module, tools: { path, content }, onMove }: { module: Module; tools: Tools; onMove: (to: string | null) => void }) {
  return (
    <li draggable onDragStart={(event) => event.dataTransfer?.setData(MODULE, module.id)}>
      <a draggable={false} href={path.replace(MANAGE, "/console").concat(`/modules/${module.id}`)}>{module.name}</a>
      <span class="soft">{valueWords("kind", module.kind)}</span>
      <span class="soft module-state">{module.reachable ? stateText(module.state, SHOWN_VALUES) : <Reach module={module} />}</span>
      <RoomSelect label={t("console.rooms.move", { name: module.name })} content={content} value={module.ambientId} onChange={onMove} />
    </li>
  );
}
