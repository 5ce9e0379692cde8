/** The switch of a device that is on or off. */

import { t } from "../app/i18n";
import { Switch } from "../parts/field";

interface OnOffProps {
  readonly label: string;
  readonly on: boolean;
  readonly fixed: boolean;
  /** Whether to say beside the switch what it shows. */
  readonly large: boolean;
  readonly onChange: (on: boolean) => Promise<void>;
}

export function OnOff({ label, on, fixed, large, onChange }: OnOffProps) {
  if (fixed) return null;
  const words = (
    <>
      <span class="hidden">{label}</span>
      {large && <strong>{` ${t(on ? "homes.state.on" : "homes.state.off")}`}</strong>}
    </>
  );
  return <Switch label={words} on={on} onChange={(wanted) => void onChange(wanted)} />;
}
