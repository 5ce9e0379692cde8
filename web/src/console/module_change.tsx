/** Changes of a module: its name, room and driver, the options of its driver, and its end. */

import { api } from "../app/api";
import { t } from "../app/i18n";
import { go } from "../app/router";
import { text, type FormField, type Values } from "../kit/form";
import { MANAGE, readList } from "../kit/load";
import { ConfirmButton, FormButton } from "../kit/parts";
import { useLoad } from "../parts/loaded";
import type { Driver, DriverFacts, Kind, Module } from "./model";
import { optionFields, optionsOf, type OptionsSchema } from "./options";
import { readRooms } from "./rooms";
import type { Undo } from "./undo";

type Schemas = Readonly<Record<string, OptionsSchema>>;

/** The running drivers that can drive modules of this kind, with the schemas of their options. */
async function readDrivers(kind: Kind): Promise<Schemas> {
  const { items } = await readList<Driver>("/drivers", { limit: undefined });
  const facts = await Promise.all(items.map(({ name }) => api.get<DriverFacts>(`${MANAGE}/drivers/${name}`)));
  const able = facts.filter(({ kinds }) => kinds.includes(kind));
  return Object.fromEntries(await Promise.all(able.map(async ({ name }) => [name, await api.get<OptionsSchema>(`${MANAGE}/drivers/${name}/options-schema`, { query: { kind } })] as const)));
}

export function ModuleChange({ plant, module, undo }: { plant: string; module: Module; undo: Undo }) {
  const path = `${MANAGE}/plants/${plant}/modules/${module.id}`;
  const rooms = useLoad(`rooms ${plant}`, () => readRooms(plant)).data ?? [];
  const drivers = useLoad(`drivers of ${module.kind}`, () => readDrivers(module.kind)).data ?? {};
  const schema = drivers[module.driver];
  /** The schema of another driver: with it, the module needs other options. */
  const otherSchema = (values: Values): OptionsSchema | undefined => {
    const driver = text(values, "driver") || module.driver;
    return driver === module.driver ? undefined : drivers[driver];
  };
  const fields = (values: Values): readonly FormField[] => {
    const other = otherSchema(values);
    return [
      // Options have names of their own, for example `name`.
      { kind: "text", name: "moduleName", label: t("console.name"), required: true, value: module.name },
      { kind: "choice", name: "ambientId", label: t("console.modules.ambient"), value: module.ambientId ?? "", options: [["", t("console.rooms.none")], ...rooms.map(({ id, name }) => [id, name] as const)] },
      { kind: "choice", name: "driver", label: t("console.modules.driver"), hint: t("console.modules.driver_about"), value: module.driver, options: [...new Set([module.driver, ...Object.keys(drivers)])].map((name) => [name, name] as const) },
      ...(other ? optionFields(other, {})(values) : []),
    ];
  };
  const change = (values: Values): Promise<void> => {
    const [name, other] = [text(values, "moduleName"), otherSchema(values)];
    const driven = other ? { driver: text(values, "driver"), options: optionsOf(other, {}, values) } : {};
    return undo.change(path, { name, ambientId: text(values, "ambientId") || null, ...driven }, t("console.modules.changed", { name }));
  };
  const remove = async (): Promise<void> => {
    await api.delete(path);
    go(`/console/plants/${plant}`);
  };
  return (
    <>
      <FormButton
        label={t("console.change")}
        title={t("console.modules.change")}
        submit={t("console.save")}
        fields={fields}
        onSubmit={change}
      />
      {schema && (
        <FormButton
          label={t("console.modules.options")}
          about={t("console.modules.options_about", { driver: module.driver })}
          submit={t("console.save")}
          fields={optionFields(schema, module.options)}
          onSubmit={(values) => undo.change(path, { options: optionsOf(schema, module.options, values) }, t("console.modules.changed", { name: module.name }))}
        />
      )}
      <ConfirmButton label={t("console.delete")} question={t("console.modules.delete_about", { name: module.name })} onConfirm={remove} />
    </>
  );
}
