/** States, failures and reasons in the words of a resident. */

import { formatNumber, formatTime, formatUnit, hasText, t } from "../app/i18n";
import { readingWords } from "../app/units";
import type { IconName } from "../parts/icons";
import type { Failure } from "./device";
import type { Module, State } from "./model";

const ICONS: Readonly<Record<string, IconName>> = {
  light: "lamp",
  plug: "plug",
  heater: "thermostat",
  automation: "shutter",
  chronothermostat: "thermostat",
  scene: "scene",
  multisocket: "plug",
  energymeter: "energy",
  remote: "remote",
  lock: "door",
  activation: "key",
  "audiovideo unit": "camera",
  "emergency controller": "exit",
  "emergency unit": "exit",
};

export function iconOf(module: Module): IconName {
  return ICONS[module.kind] ?? (module.state?.of === "camera" ? "camera" : module.state?.of === "emergency" ? "exit" : "settings");
}

export function temperatureWords(celsius: number): string {
  return formatUnit(celsius, "celsius", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

const onOff = (on: boolean): string => t(on ? "homes.state.on" : "homes.state.off");

/** One line about a state: "On, 40 %". */
export function stateWords(state: State | null): string {
  if (!state) return "";
  switch (state.of) {
    case "light":
      return state.on && state.level !== null ? `${onOff(true)} · ${formatUnit(state.level, "percent")}` : onOff(state.on);
    case "plug":
      return state.on && state.power ? `${onOff(true)} · ${readingWords(state.power)}` : onOff(state.on);
    case "heater":
    case "camera":
      return onOff(state.on);
    case "automation":
      return positionWords(state.position);
    case "chronothermostat":
      return state.temperature ? t("homes.state.now", { value: readingWords(state.temperature) }) : t(`homes.mode.${state.mode}`);
    case "energymeter":
      return [state.power, state.energy].flatMap((reading) => (reading ? [readingWords(reading)] : [])).join(" · ");
    case "remote":
      return t("homes.state.battery", { level: t(`homes.battery.${state.battery}`) });
    case "gateway":
      return "";
    case "lock":
      return t(state.locked ? "homes.state.locked" : "homes.state.open");
    case "activation":
      return t(state.active ? "homes.state.active" : "homes.state.ready");
    case "multisocket":
      return t("homes.state.sockets", { on: state.sockets.filter(Boolean).length, all: state.sockets.length });
    case "emergency":
      return emergencyWords(state);
  }
}

function positionWords(position: number): string {
  if (position === 0) return t("homes.state.closed");
  if (position === 100) return t("homes.state.opened");
  return t("homes.state.partly_open", { percent: formatUnit(position, "percent") });
}

const isFailure = ({ type }: { readonly type: string }): boolean => !type.endsWith("OK");

/** Whether somebody should do something about the device: a failure, or a battery that is almost empty. */
export function needsCare(state: State | null): boolean {
  if (state?.of === "remote") return state.battery === "low" || state.battery === "very_low";
  return state?.of === "emergency" && state.failures.some(isFailure);
}

function emergencyWords({ failures, testing, charge }: Extract<State, { of: "emergency" }>): string {
  const broken = failures.filter(isFailure).length;
  if (broken) return t("homes.state.failures", { count: broken });
  if (testing) return t("homes.state.testing");
  return charge === null ? t("homes.state.fine") : `${t("homes.state.fine")} · ${formatUnit(charge, "percent")}`;
}

/** Why a device cannot be reached, and since when. */
export function absenceWords({ unreachable, lastHeardAt }: Module): string {
  const why = unreachable && hasText(`homes.absent.${unreachable.why.replaceAll(" ", "_")}`) ? unreachable.why.replaceAll(" ", "_") : "unknown";
  const words = t(`homes.absent.${why}`);
  return lastHeardAt ? `${words} ${t("homes.last_heard", { time: formatTime(new Date(lastHeardAt)) })}` : words;
}

/** What went wrong with the last command: "It did not answer for 5 s. Last heard 10:41." */
export function failureWords(failure: Failure, { lastHeardAt }: Module): string {
  const heard = lastHeardAt ? ` ${t("homes.last_heard", { time: formatTime(new Date(lastHeardAt)) })}` : "";
  switch (failure.outcome) {
    case "unanswered":
      return t("homes.failed.unanswered", { seconds: formatNumber(failure.seconds, { maximumFractionDigits: 0 }) }) + heard;
    case "unreachable":
      return t("homes.failed.unreachable") + heard;
    case "refused":
      return t("homes.failed.refused") + heard;
    case "unknown":
      return t("homes.failed.unknown");
    case "not sent":
      return failure.detail;
  }
}
