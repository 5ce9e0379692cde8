/** Changes of a module: its name, room and driver, the options of its driver, and its end. */

import { api } from "../app/api";
import { t } from "../app/i18n";
import { go } from "../app/router";
import { text } from "../kit/form";
import { MANAGE } from "../kit/load";
import { ConfirmButton, FormButton } from "../kit/parts";
import { useLoad } from "../parts/loaded";
import type { Module } from "./model";
import { optionFields, optionsOf, type OptionsSchema } from "./options";
import { readRooms } from "./rooms";
import type { Undo } from "./undo";

export function ModuleChange({ plant, module, undo }: { plant: string; module: Module; undo: Undo }) {
  const path = `${MANAGE}/plants/${plant}/modules/${module.id}`;
  const rooms = useLoad(`rooms ${plant}`, () => readRooms(plant)).data ?? [];
  const schema = useLoad(`${module.driver} ${module.kind}`, () => api.get<OptionsSchema>(`${MANAGE}/drivers/${module.driver}/options-schema`, { query: { kind: module.kind } })).data;
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
        fields={[
          { kind: "text", name: "name", label: t("console.name"), required: true, value: module.name },
          { kind: "choice", name: "ambientId", label: t("console.modules.ambient"), value: module.ambientId ?? "", options: [["", t("console.rooms.none")], ...rooms.map(({ id, name }) => [id, name] as const)] },
          { kind: "text", name: "driver", label: t("console.modules.driver"), hint: t("console.modules.driver_about"), required: true, value: module.driver },
        ]}
        onSubmit={(values) => undo.change(path, { name: text(values, "name"), ambientId: text(values, "ambientId") || null, driver: text(values, "driver") }, t("console.modules.changed", { name: text(values, "name") }))}
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
