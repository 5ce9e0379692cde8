/** Where an entry of a list belongs: the name of the module with a link to its page, and below it the plant. */

import { t } from "../app/i18n";

/** A plant or a module that was deleted has no name. */
export interface Place {
  readonly plantId: string;
  readonly plantName?: string | undefined;
  /** Without a module, the entry is about the whole plant. */
  readonly moduleId: string | null;
  readonly moduleName?: string | undefined;
}

/** The words of a place, for search and sorting. */
export function placeText({ plantId, plantName, moduleId, moduleName }: Place): string {
  return `${moduleId ? (moduleName ?? moduleId) : t("console.faults.whole")} ${plantName ?? plantId}`;
}

export function ModuleLink({ place: { plantId, plantName, moduleId, moduleName } }: { place: Place }) {
  const plant = plantName ? <a href={`/console/plants/${plantId}`}>{plantName}</a> : <code>{plantId.slice(0, 8)}</code>;
  const module = moduleId && (moduleName ? <a href={`/console/plants/${plantId}/modules/${moduleId}`}>{moduleName}</a> : <code>{moduleId.slice(0, 8)}</code>);
  return (
    <>
      {module || t("console.faults.whole")}
      <span class="soft detail">{plant}</span>
    </>
  );
}
