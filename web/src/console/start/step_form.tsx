/** The form of a step. A refusal of the gateway is shown above the button, and the entries stay. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { wordsFor } from "../../app/api";
import { Notice } from "../../parts/notice";

interface StepFormProps {
  readonly submit: string;
  readonly disabled?: boolean;
  readonly onSubmit: () => Promise<unknown>;
  readonly children: ComponentChildren;
}

export function StepForm({ submit, disabled = false, onSubmit, children }: StepFormProps) {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const send = async (): Promise<void> => {
    setBusy(true);
    setProblem("");
    try {
      await onSubmit();
    } catch (error) {
      setProblem(wordsFor(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {children}
      {problem && <Notice kind="alarm" title={problem} />}
      <button type="submit" class="primary" disabled={disabled || busy} aria-busy={busy}>
        {submit}
      </button>
    </form>
  );
}
