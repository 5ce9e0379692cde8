/** The page of one device: all its controls, and what is known about it. */

import { formatDate, formatTime, formatUnit, t } from "../app/i18n";
import { readingWords } from "../app/units";
import { Button } from "../parts/button";
import { Select } from "../parts/field";
import { Notice } from "../parts/notice";
import { PageTitle } from "../parts/page_title";
import { ColderWarmer, Controls, LampColor, modeWords, setTemperature } from "./controls";
import { Dial } from "./dial";
import type { Device } from "./device";
import { NotInHome } from "./head";
import { History } from "./history";
import type { State, ThermostatState } from "./model";
import type { OpenHome } from "./store";
import { absenceWords, failureWords, stateWords } from "./words";

export function DevicePage({ open, id }: { open: OpenHome; id: string }) {
  const home = open.home.value;
  const device = open.device(id);
  if (!home) return null;
  if (!device) return <NotInHome home={home} words={t("homes.no_device")} />;
  const module = device.module.value;
  const place = open.places.value.find(({ devices }) => devices.includes(device));
  const failure = device.failure.value;
  return (
    <div class="device-page">
      <header class="page-head">
        <div>
          <p class="crumbs">
            <a href="/homes">{t("homes.title")}</a>
            <a href={`/homes/${home.id}`}>{home.name}</a>
            {place?.room && <a href={`/homes/${home.id}/rooms/${place.room.id}`}>{place.room.name}</a>}
          </p>
          <PageTitle words={module.name} of={home.name} />
          <p class="soft" aria-live="polite">
            {device.isPending.value ? t("homes.state.pending") : module.reachable ? stateWords(device.state.value) : absenceWords(module)}
          </p>
        </div>
        <Star open={open} id={id} />
      </header>
      {failure && <Notice kind="alarm" title={failureWords(failure, module)} />}
      <div class="panel device-controls">
        <Large device={device} />
      </div>
      <Facts device={device} />
      <History home={home} device={device} />
    </div>
  );
}

function Star({ open, id }: { open: OpenHome; id: string }) {
  const starred = open.favourites.value.includes(id);
  return (
    <Button look="quiet" icon="star" pressed={starred} onClick={() => open.setFavourite(id, !starred)}>
      <span class="wide-words">{t("homes.favourites.one")}</span>
    </Button>
  );
}

function Large({ device }: { device: Device }) {
  const state = device.state.value;
  if (state?.of === "chronothermostat") return <Thermostat device={device} state={state} />;
  return (
    <>
      <Controls device={device} large />
      {state?.of === "light" && state.color && device.module.value.command && <LampColor device={device} color={state.color} />}
    </>
  );
}

const BOOST_MINUTES = [30, 60, 90] as const;
const MODES = ["automatic", "manual", "boost", "off", "protection"] as const;

function Thermostat({ device, state }: { device: Device; state: ThermostatState }) {
  const { name, command, programs } = device.module.value;
  const send = (values: Partial<ThermostatState>): void => {
    void device.send({ do: "set thermostat", ...values }, values as Partial<State>);
  };
  return (
    <div class="thermostat">
      <Dial
        label={t("homes.temperature_of", { name })}
        setPoint={state.setPoint}
        measured={state.temperature?.value ?? null}
        heating={state.function === "heating"}
        active={state.loadActive}
        disabled={!command}
        onChange={(setPoint) => setTemperature(device, state, setPoint)}
      />
      <ColderWarmer device={device} state={state}>
        <span>{modeWords(state)}</span>
        {state.humidity && <span class="soft">{t("homes.humidity", { value: readingWords(state.humidity) })}</span>}
      </ColderWarmer>
      {command && (
        <div class="choices">
          <Select label={t("homes.mode.title")} value={state.mode} options={MODES.map((mode) => [mode, t(`homes.mode.${mode}`)] as const)} onChange={(mode) => send({ mode })} />
          <Select
            label={t("homes.function.title")}
            value={state.function}
            options={(["heating", "cooling"] as const).map((one) => [one, t(`homes.function.${one}`)] as const)}
            onChange={(value) => send({ function: value })}
          />
          {programs.length > 0 && (
            <Select
              label={t("homes.program")}
              value={String(state.program ?? "")}
              options={[...(state.program === null ? [["", "–"] as const] : []), ...programs.map(({ number, name: title }) => [String(number), title] as const)]}
              onChange={(program) => program && send({ program: Number(program), mode: "automatic" })}
            />
          )}
        </div>
      )}
      {command && state.mode === "boost" && state.activationTime && <BoostEnd onChoose={(activationTime) => send({ mode: "boost", activationTime })} />}
    </div>
  );
}

/** Chooses the end of a boost. It is offered only if the device reports an end: other devices refuse a command with one. */
function BoostEnd({ onChoose }: { onChoose: (activationTime: string) => void }) {
  return (
    <div class="boost-end" role="group" aria-label={t("homes.boost_for")}>
      <strong>{t("homes.boost_for")}</strong>
      {BOOST_MINUTES.map((minutes) => (
        <Button key={minutes} onClick={() => onChoose(new Date(Date.now() + minutes * 60_000).toISOString())}>
          {formatUnit(minutes, "min")}
        </Button>
      ))}
    </div>
  );
}

function Facts({ device }: { device: Device }) {
  const { lastHeardAt, simulated, unreachable } = device.module.value;
  const state = device.module.value.state;
  const facts: [string, string][] = [];
  if (lastHeardAt) facts.push([t("homes.facts.heard"), formatTime(new Date(lastHeardAt))]);
  if (unreachable) facts.push([t("homes.facts.absent_since"), formatDate(new Date(unreachable.since), { dateStyle: "medium", timeStyle: "short" })]);
  if (state && "power" in state && state.power) facts.push([t("homes.facts.power"), readingWords(state.power)]);
  if (state && "energy" in state && state.energy) facts.push([t("homes.facts.energy"), readingWords(state.energy)]);
  return (
    <>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {simulated && <p class="soft facts-note">{t("homes.facts.simulated")}</p>}
    </>
  );
}
