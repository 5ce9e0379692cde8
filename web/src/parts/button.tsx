import { createContext, type ComponentChildren } from "preact";
import { useContext, useState } from "preact/hooks";
import { failureOf } from "../app/api";
import { Icon, type IconName } from "./icons";
import { toastFailure } from "./toast";

interface ButtonProps {
  readonly children: ComponentChildren;
  readonly onClick: () => void | Promise<unknown>;
  readonly look?: "plain" | "primary" | "danger" | "quiet";
  readonly icon?: IconName;
  readonly disabled?: boolean;
  /** What the button does, if its words alone do not say it, for people who do not see the page. */
  readonly label?: string;
  /** For a button that switches something on and off: whether it is on. */
  readonly pressed?: boolean;
}

/** Says why the promise of a button failed. A dialog shows it inside: a toast would be behind the dialog. */
export const Failures = createContext(toastFailure);

/** A button. While its promise runs it is disabled. */
export function Button({ children, onClick, look = "plain", icon, disabled = false, label, pressed }: ButtonProps) {
  const [busy, setBusy] = useState(false);
  const report = useContext(Failures);
  const click = async (): Promise<void> => {
    setBusy(true);
    try {
      await onClick();
    } catch (error) {
      report(failureOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" class={look} disabled={disabled || busy} aria-busy={busy} aria-label={label} aria-pressed={pressed} onClick={() => void click()}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

interface IconButtonProps extends Omit<ButtonProps, "children" | "look" | "pressed"> {
  readonly icon: IconName;
  /** What the button does, for people who do not see the icon. */
  readonly label: string;
}

export function IconButton({ icon, label, onClick, disabled = false }: IconButtonProps) {
  return (
    <button type="button" class="icon-button" title={label} aria-label={label} disabled={disabled} onClick={() => void onClick()}>
      <Icon name={icon} />
    </button>
  );
}
