/** The form of a step. A refusal of the gateway is shown above the button, and the entries stay. */

import type { ComponentChildren } from "preact";
import { useSubmit } from "../../kit/form";
import { Notice } from "../../parts/notice";

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
      {problem && <Notice kind="alarm" title={problem} />}
      <button type="submit" class="primary" disabled={disabled || busy} aria-busy={busy}>
        {submit}
      </button>
    </form>
  );
}
