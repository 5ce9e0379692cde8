/** A button that acts only after it was held for a second: doors must not open by a touch in the pocket. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../app/i18n";
import { Icon, type IconName } from "../parts/icons";

const HELD_FOR = 1_000;

interface HoldButtonProps {
  readonly icon: IconName;
  readonly onHeld: () => void;
  readonly disabled?: boolean;
  readonly children: ComponentChildren;
}

export function HoldButton({ icon, onHeld, disabled = false, children }: HoldButtonProps) {
  const [held, setHeld] = useState(false);
  const timer = useRef<number | undefined>(undefined);
  const release = (): void => {
    clearTimeout(timer.current);
    timer.current = undefined;
    setHeld(false);
  };
  useEffect(() => release, []);
  const press = (): void => {
    if (disabled || timer.current !== undefined) return;
    setHeld(true);
    timer.current = setTimeout(() => {
      release();
      onHeld();
    }, HELD_FOR);
  };
  return (
    <button
      type="button"
      class={held ? "hold held" : "hold"}
      disabled={disabled}
      title={t("homes.hold")}
      onPointerDown={(event) => event.button === 0 && press()}
      onPointerUp={release}
      onPointerLeave={release}
      onPointerCancel={release}
      onBlur={release}
      onContextMenu={(event) => event.preventDefault()}
      onKeyDown={(event) => (event.key === " " || event.key === "Enter") && !event.repeat && press()}
      onKeyUp={release}
    >
      <Icon name={icon} />
      <span>
        {children}
        <span class="hold-hint">{t("homes.hold")}</span>
      </span>
    </button>
  );
}
