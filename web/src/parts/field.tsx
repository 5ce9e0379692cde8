/** Fields of forms, each with its label, its hint and its mistake. */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: string | undefined;
  readonly mistake?: string | undefined;
  readonly type?: "text" | "email" | "password" | "number" | "search" | "date" | "datetime-local" | "url";
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly min?: string | number;
  readonly max?: string | number;
  readonly step?: string | number;
  readonly autocomplete?: string;
  readonly placeholder?: string;
}

export function Field({ label, value, onInput, hint, mistake, type = "text", ...input }: FieldProps) {
  const id = useId();
  return (
    <div class={mistake ? "field wrong" : "field"}>
      <label for={id}>{label}</label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {mistake && (
        <p class="problem" id={`${id}-problem`}>
          {mistake}
        </p>
      )}
      <input
        {...input}
        id={id}
        type={type as "text"}
        value={value}
        aria-invalid={Boolean(mistake)}
        aria-describedby={[hint && `${id}-hint`, mistake && `${id}-problem`].filter(Boolean).join(" ") || undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </div>
  );
}

interface SelectProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly (readonly [T, string])[];
  readonly onChange: (value: T) => void;
  readonly hint?: string | undefined;
}

export function Select<T extends string>({ label, value, options, onChange, hint }: SelectProps<T>) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <select id={id} value={value} aria-describedby={hint && `${id}-hint`} onChange={(event) => onChange(event.currentTarget.value as T)}>
        {options.map(([code, words]) => (
          <option key={code} value={code}>
            {words}
          </option>
        ))}
      </select>
    </div>
  );
}

interface SwitchProps {
  readonly label: ComponentChildren;
  readonly on: boolean;
  readonly onChange: (on: boolean) => void;
  readonly disabled?: boolean;
}

/** On or off, at once (not part of a form). */
export function Switch({ label, on, onChange, disabled = false }: SwitchProps) {
  return (
    <label class="switch">
      <span>{label}</span>
      <input
        type="checkbox"
        role="switch"
        checked={on}
        disabled={disabled}
        onChange={(event) => {
          // The page shows what the device reports, not what was clicked.
          const wanted = event.currentTarget.checked;
          event.currentTarget.checked = on;
          onChange(wanted);
        }}
      />
    </label>
  );
}
