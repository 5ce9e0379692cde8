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

interface NamedProps {
  readonly kind: "application" | "module" | "person" | "plant";
  readonly id: string;
  /** Empty if the thing was deleted. */
  readonly name: string | undefined;
  readonly href: string;
}

/** The name of a thing with a link to its page. A deleted thing has no page, and only its id is known. */
export function Named({ kind, id, name, href }: NamedProps) {
  if (name) return <a href={href}>{name}</a>;
  return (
    <>
      {t(`console.deleted.${kind}`)} <code title={id}>{id.slice(0, 8)}</code>
    </>
  );
}

/** The words of a place, for search and sorting. */
export function placeText({ plantId, plantName, moduleId, moduleName }: Place): string {
  return `${moduleId ? (moduleName ?? moduleId) : t("console.faults.whole")} ${plantName ?? plantId}`;
}

export function ModuleLink({ place: { plantId, plantName, moduleId, moduleName } }: { place: Place }) {
  const page = `/console/plants/${plantId}`;
  return (
    <>
      {moduleId ? <Named kind="module" id={moduleId} name={moduleName} href={`${page}/modules/${moduleId}`} /> : t("console.faults.whole")}
      <span class="soft detail">
        <Named kind="plant" id={plantId} name={plantName} href={page} />
      </span>
    </>
  );
}
