/** A device in a list: its name, its state, its control, and what went wrong. */

import { t } from "../app/i18n";
import { Icon } from "../parts/icons";
import { Controls } from "./controls";
import type { Device } from "./device";
import { absenceWords, failureWords, iconOf, needsCare, stateWords } from "./words";

const isOn = (device: Device): boolean => {
  const state = device.state.value;
  return state !== null && (("on" in state && state.on) || (state.of === "lock" && !state.locked));
};

export function Card({ device, href }: { device: Device; href: string }) {
  const module = device.module.value;
  const failure = device.failure.value;
  const looks = ["card", isOn(device) && "on", device.isPending.value && "pending", !module.reachable && "absent", needsCare(device.state.value) && "bad"];
  return (
    <article class={looks.filter(Boolean).join(" ")} aria-label={module.name} aria-busy={device.isPending.value}>
      <a class="card-head" href={href}>
        <span class="card-icon">
          <Icon name={iconOf(module)} />
        </span>
        <span class="row-text">
          <span class="row-title" title={module.name}>
            {module.name}
          </span>
          <span class="row-about">{about(device)}</span>
        </span>
      </a>
      {module.reachable && <Controls device={device} />}
      {failure && (
        <p class="card-wide card-problem" role="alert">
          <Icon name="warning" />
          {failureWords(failure, module)}
        </p>
      )}
    </article>
  );
}

function about(device: Device): string {
  const module = device.module.value;
  if (device.isPending.value) return t("homes.state.pending");
  if (module.kind === "scene") return t("homes.state.scene");
  return module.reachable ? stateWords(device.state.value) : absenceWords(module);
}
