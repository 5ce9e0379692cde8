/** Sends a command to a module: a form with the values that its kind takes. */

import { api } from "../app/api";
import { t } from "../app/i18n";
import { Button } from "../parts/button";
import { toast } from "../parts/toast";
import { text, type FormField, type Values } from "../kit/form";
import { MANAGE } from "../kit/load";
import { FormButton } from "../kit/parts";
import type { Kind, Module, Order } from "./model";
import { valueName } from "./state";
import { valueWords } from "./values";

const LONGEST_COMMAND = 60_000;

type Input = readonly [name: string, kind: "bool" | "number" | readonly string[], min?: number, max?: number];

interface Form {
  readonly do: string;
  readonly inputs: readonly Input[];
  /** Whether empty fields are left out and keep their values. */
  readonly optional?: boolean;
}

/** What each kind takes, as in the management API. Other kinds take no command. */
const FORMS: Partial<Record<Kind, Form>> = {
  plug: { do: "switch plug", inputs: [["on", "bool"]] },
  multisocket: { do: "switch socket", inputs: [["socket", "number", 0, 1000], ["on", "bool"]] },
  heater: { do: "switch heater", inputs: [["on", "bool"]] },
  light: { do: "set light", inputs: [["on", "bool"], ["level", "number", 0, 100], ["hue", "number", 0, 360], ["saturation", "number", 0, 100], ["value", "number", 0, 100]], optional: true },
  automation: { do: "move shutter", inputs: [["position", "number", 0, 100]] },
  chronothermostat: {
    do: "set thermostat",
    inputs: [["mode", ["automatic", "manual", "boost", "off", "protection"]], ["function", ["heating", "cooling"]], ["setPoint", "number", 3, 40], ["program", "number", 0, 11]],
    optional: true,
  },
  lock: { do: "open lock", inputs: [] },
  activation: { do: "activate", inputs: [] },
  "audiovideo unit": { do: "switch camera", inputs: [["on", "bool"]] },
};

const COLOR = ["hue", "saturation", "value"];

interface CommandProps {
  readonly plant: string;
  readonly module: Module;
  readonly onEnded: () => Promise<unknown>;
}

export function Command({ plant, module, onEnded }: CommandProps) {
  const path = `${MANAGE}/plants/${plant}/modules/${module.id}`;
  const form = FORMS[module.kind];
  if (module.kind === "scene") {
    const run = async (): Promise<void> => {
      await api.post(`${path}/run`, undefined, { timeout: LONGEST_COMMAND });
      toast(t("console.command.ran"));
      await onEnded();
    };
    return (
      <Button look="primary" onClick={run}>
        {t("console.command.run")}
      </Button>
    );
  }
  if (!form) return null;
  const send = async (values: Values): Promise<void> => {
    const order = await api.post<Order>(`${path}/commands`, bodyOf(form, values), { timeout: LONGEST_COMMAND });
    const words = `${valueWords("orderstate", order.state)} ${order.problem}`.trim();
    toast(words, order.state === "confirmed" ? "done" : "failed");
    await onEnded();
  };
  return (
    <FormButton
      label={t("console.command.send")}
      title={`${module.name}: ${valueWords("do", form.do)}`}
      about={form.optional ? t("console.command.optional") : t("console.command.about")}
      look="primary"
      submit={t("console.command.send")}
      fields={form.inputs.map((input) => fieldOf(input, form.optional ?? false))}
      onSubmit={send}
    />
  );
}

function fieldOf([name, kind, min, max]: Input, optional: boolean): FormField {
  if (kind === "number") {
    return { kind: "text", type: "number", name, label: valueName(name), hint: `${min} – ${max}`, step: "any", required: !optional, ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
  }
  const options = kind === "bool" ? ([["true", t("console.yes")], ["false", t("console.no")]] as const) : kind.map((one) => [one, valueWords("word", one)] as const);
  return { kind: "choice", name, label: valueName(name), value: optional ? "" : (options[0]?.[0] ?? ""), options: optional ? [["", "–"], ...options] : options };
}

function bodyOf(form: Form, values: Values): object {
  const given = form.inputs
    .filter(([name]) => text(values, name))
    .map(([name, kind]) => [name, kind === "number" ? Number(text(values, name)) : kind === "bool" ? text(values, name) === "true" : text(values, name)] as const);
  const color = given.filter(([name]) => COLOR.includes(name));
  const rest = given.filter(([name]) => !COLOR.includes(name));
  return { do: form.do, ...Object.fromEntries(rest), ...(color.length ? { color: Object.fromEntries(color) } : {}) };
}
