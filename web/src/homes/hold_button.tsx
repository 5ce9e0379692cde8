/**
 * A button that acts after it was held for a second: doors must not open by a touch in the pocket. After a shorter press it asks: a
 * screen reader sends only a click, and not everybody can hold a button.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../app/i18n";
import { Button } from "../parts/button";
import { Dialog, DialogButtons } from "../parts/dialog";
import { Icon, type IconName } from "../parts/icons";

const HELD_FOR = 1_000;
/** The click at the end of a hold comes in this time after the release. */
const CLICK_WITHIN = 500;

interface HoldButtonProps {
  readonly icon: IconName;
  /** The question after a short press. */
  readonly question: string;
  readonly onHeld: () => void;
  readonly disabled?: boolean;
  readonly children: ComponentChildren;
}

const isPressing = ({ key }: KeyboardEvent): boolean => key === " " || key === "Enter";

export function HoldButton({ icon, question, onHeld, disabled = false, children }: HoldButtonProps) {
  const [held, setHeld] = useState(false);
  const [asking, setAsking] = useState(false);
  const timer = useRef<number | undefined>(undefined);
  const hasActed = useRef(false);
  const release = (): void => {
    clearTimeout(timer.current);
    timer.current = undefined;
    setHeld(false);
  };
  useEffect(() => release, []);
  const press = (): void => {
    if (disabled || timer.current !== undefined) return;
    hasActed.current = false;
    setHeld(true);
    timer.current = setTimeout(() => {
      release();
      hasActed.current = true;
      // Not a listener of the button: a button that is disabled meanwhile gets no event.
      addEventListener("pointerup", () => setTimeout(() => (hasActed.current = false), CLICK_WITHIN), { once: true });
      onHeld();
    }, HELD_FOR);
  };
  const releaseKey = (event: KeyboardEvent): void => {
    if (isPressing(event) && timer.current !== undefined) setAsking(true);
    hasActed.current = false; // No click follows a key.
    release();
  };
  return (
    <>
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
        onKeyDown={(event) => {
          if (!isPressing(event)) return;
          event.preventDefault(); // Enter would send a click before it is released.
          if (!event.repeat) press();
        }}
        onKeyUp={releaseKey}
        onClick={() => {
          if (!hasActed.current) setAsking(true);
          hasActed.current = false;
        }}
      >
        <Icon name={icon} />
        <span>
          {children}
          <span class="hold-hint">{t("homes.hold")}</span>
        </span>
      </button>
      {asking && (
        <Dialog title={question} onClose={() => setAsking(false)}>
          <DialogButtons>
            <Button
              look="primary"
              disabled={disabled}
              onClick={() => {
                setAsking(false);
                onHeld();
              }}
            >
              {children}
            </Button>
            <Button onClick={() => setAsking(false)}>{t("common.cancel")}</Button>
          </DialogButtons>
        </Dialog>
      )}
    </>
  );
}
