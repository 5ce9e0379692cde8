/** The form of a step. A refusal of the gateway is shown above the button, and the entries stay. */

import type { ComponentChildren } from "preact";
import { useSubmit } from "../../kit/form";
import { FailureNotice } from "../../parts/notice";

interface StepFormProps {
  readonly submit: string;
  readonly disabled?: boolean;
  readonly onSubmit: () => Promise<unknown>;
  readonly children: ComponentChildren;
}

export function StepForm({ submit, disabled = false, onSubmit, children }: StepFormProps) {
  const { problem, busy, send } = useSubmit(onSubmit);
  return (
    <form onSubmit={send}>
      {children}
      <FailureNotice of={problem} />
      <button type="submit" class="primary" disabled={disabled || busy} aria-busy={busy}>
        {submit}
      </button>
    </form>
  );
}
