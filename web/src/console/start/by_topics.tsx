/** Adds a device that no search finds, by its MQTT topics. */

import { useState } from "preact/hooks";
import { api } from "../../app/api";
import { t } from "../../app/i18n";
import { MANAGE } from "../../kit/load";
import { Field, Select } from "../../parts/field";
import { toast } from "../../parts/toast";
import type { Room } from "../found";
import { valueWords } from "../values";
import { StepForm } from "./step_form";

const KINDS = ["light", "plug"] as const;

interface ByTopicsProps {
  readonly home: string;
  readonly rooms: readonly Room[];
  /** Named only if there are several brokers. */
  readonly broker: string | null;
  readonly onAdded: () => Promise<unknown>;
}

export function ByTopics({ home, rooms, broker, onAdded }: ByTopicsProps) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState<(typeof KINDS)[number]>("light");
  const [room, setRoom] = useState(rooms[0]?.id ?? "");
  const [command, setCommand] = useState("");
  const [state, setState] = useState("");
  const [on, setOn] = useState("ON");
  const [off, setOff] = useState("OFF");
  const add = async (): Promise<void> => {
    const options = {
      dialect: "generic",
      state: { on: { topic: state.trim(), map: { [on]: true, [off]: false } } },
      command: { on: { topic: command.trim(), map: { true: on, false: off } } },
      ...(broker ? { broker } : {}),
    };
    await api.post(`${MANAGE}/plants/${home}/modules`, { name: name.trim(), kind, driver: "mqtt", options, ambientId: room || null });
    toast(t("console.start.topics.added", { name: name.trim() }));
    await onAdded();
  };
  return (
    <details class="by-topics">
      <summary>{t("console.start.topics.title")}</summary>
      <p class="soft">{t("console.start.topics.about")}</p>
      <StepForm submit={t("console.start.topics.add")} onSubmit={add}>
        <Field label={t("console.name")} value={name} onInput={setName} required maxLength={50} />
        <Select label={t("console.modules.kind")} value={kind} options={KINDS.map((one) => [one, valueWords("kind", one)] as const)} onChange={setKind} />
        <Select label={t("console.start.topics.room")} value={room} options={[...rooms.map((one) => [one.id, one.name] as const), ["", t("console.start.devices.no_room")] as const]} onChange={setRoom} />
        <Field label={t("console.start.topics.command")} hint={t("console.start.topics.command_about")} value={command} onInput={setCommand} required maxLength={250} />
        <Field label={t("console.start.topics.state")} hint={t("console.start.topics.state_about")} value={state} onInput={setState} required maxLength={250} />
        <div class="on-and-off">
          <Field label={t("console.start.topics.on")} value={on} onInput={setOn} required maxLength={100} />
          <Field label={t("console.start.topics.off")} value={off} onInput={setOff} required maxLength={100} />
        </div>
      </StepForm>
    </details>
  );
}
