/** The time zone of a home. */

import { t } from "../app/i18n";
import { differsHere, knownZone, OWN_ZONE } from "../app/local_time";
import type { Home } from "./model";

/** The zone of the browser, if that of the home is not known. */
export function zoneOf({ timeZone }: Home): string {
  return knownZone(timeZone) ?? OWN_ZONE;
}

/** Says whose times are shown, if the clocks of the home and of the browser differ. */
export function ZoneHint({ zone }: { zone: string }) {
  return differsHere(zone) ? <p class="hint">{t("homes.zone", { zone, own: OWN_ZONE })}</p> : null;
}
