/** The emergency lighting of a home that is a site: what works, and what does not. */

import { api } from "../app/api";
import { count, formatTime, hasText, t } from "../app/i18n";
import { List, Row } from "../parts/list";
import { Show, useLoad } from "../parts/loaded";
import { Empty, Notice } from "../parts/notice";
import { Subpage } from "./head";
import type { EmergencyDevice, Safety } from "./model";
import type { OpenHome } from "./store";

export function SafetyPage({ open }: { open: OpenHome }) {
  const home = open.home.value;
  // The states of the emergency devices: the page reads the status again when one of them changes.
  const states = open.devices.map(({ module }) => (module.value.state?.of === "emergency" ? JSON.stringify([module.value.reachable, module.value.state]) : "")).join();
  const safety = useLoad(open.id, (signal) => api.get<Safety>(`/home/v1/homes/${open.id}/safety`, { signal }), [states]);
  if (!home) return null;
  return (
    <Subpage home={home} current="safety">
      <Show of={safety}>{(found) => <Status safety={found} />}</Show>
    </Subpage>
  );
}

function Status({ safety }: { safety: Safety }) {
  if (!safety.controllers.length) return <Empty title={t("homes.safety.none")} />;
  const broken = safety.controllers.flatMap(({ units, ...controller }) => [controller, ...units]).filter(({ status }) => status !== "working").length;
  return (
    <>
      {safety.inAlert > 0 && <Notice kind="alarm" title={count("homes.safety.alert", safety.inAlert)} />}
      <Notice kind={safety.working ? "info" : "warn"} title={broken ? count("homes.safety.broken", broken) : t("homes.safety.working")} />
      {safety.controllers.map((controller) => (
        <section key={controller.id} class="part" aria-label={controller.name}>
          <h2>{controller.name}</h2>
          <List>
            <Row icon="settings" title={t("homes.safety.controller")} about={deviceWords(controller)} tag={<Tag device={controller} />} />
            {controller.units.map((unit) => (
              <Row key={unit.id} icon="exit" title={unit.name} about={deviceWords(unit)} tag={<Tag device={unit} />} />
            ))}
          </List>
        </section>
      ))}
    </>
  );
}

const LOOKS: Readonly<Record<string, string>> = { working: "tag", "in failure": "tag alarm", "no communication": "tag warn" };

function Tag({ device }: { device: EmergencyDevice }) {
  return <span class={LOOKS[device.status] ?? "tag"}>{t(`homes.safety.status.${device.status.replace(" ", "_")}`)}</span>;
}

function deviceWords({ failures, heardAt }: EmergencyDevice): string {
  const parts = [...new Set(failures.map(failureName))].filter(Boolean);
  if (heardAt) parts.push(t("homes.last_heard", { time: formatTime(new Date(heardAt)) }));
  return parts.join(" · ");
}

/** `BLOCK.FAULTY_BATTERY` and `REMOTE.STATUS.BATTERY_FAULT` in words; empty for the types that mean "no failure". */
function failureName(type: string): string {
  const name = (type.split(".").at(-1) ?? "").toLowerCase();
  if (name === "ok") return "";
  return hasText(`homes.failure.${name}`) ? t(`homes.failure.${name}`) : t("homes.failure.other");
}
