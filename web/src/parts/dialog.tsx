/** A question or a form in front of the page. The browser keeps the focus inside and closes it with Escape. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Failure } from "../app/api";
import { t } from "../app/i18n";
import { Failures, IconButton } from "./button";
import { FailureNotice } from "./notice";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Shown while it is rendered. A click beside it does not close it: it may have entries, or a secret that is shown only once. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    // The dialog is already removed then, so the browser does not return the focus by itself.
    return () => focusAgain(before);
  }, []);
  return (
    <dialog
      ref={element}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <div class="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          <IconButton icon="close" label={t("common.close")} onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}

/** Return the focus to the button that opened the dialog, or to the page if the button is gone or disabled. */
function focusAgain(before: Element | null): void {
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  if (document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
}

/** The buttons at the end of a dialog. They stay visible while its content scrolls. If one of them fails, the reason is above them. */
export function DialogButtons({ problem = null, children }: { problem?: Failure | null; children: ComponentChildren }) {
  const [failure, setFailure] = useState<Failure | null>(null);
  return (
    <Failures.Provider value={setFailure}>
      <div class="dialog-foot" onClickCapture={() => setFailure(null)}>
        <FailureNotice of={problem ?? failure} />
        <div class="buttons">{children}</div>
      </div>
    </Failures.Provider>
  );
}
