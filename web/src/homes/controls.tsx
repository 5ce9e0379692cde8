/** The controls of a device, by what it is. Each shows the state that was asked for while a command is under way. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatTime, formatUnit, t } from "../app/i18n";
import { IconButton } from "../parts/button";
import { Switch } from "../parts/field";
import { Icon } from "../parts/icons";
import { Camera } from "./camera";
import type { Device } from "./device";
import { HoldButton } from "./hold_button";
import type { Color, LightState, State, ThermostatState } from "./model";
import { OnOff } from "./on_off";
import { boundSetPoint, STEP } from "./set_point";
import { Slider } from "./slider";
import { temperatureWords } from "./words";

const percent = (value: number): string => formatUnit(value, "percent");

/** The control that a card of the device shows; null if there is nothing to do. The page of the device has room for words. */
export function Controls({ device, large = false }: { device: Device; large?: boolean }) {
  const { command, kind, name } = device.module.value;
  const state = device.state.value;
  if (kind === "scene") return command ? <Scene device={device} /> : null;
  if (!state) return null;
  const fixed = !command;
  switch (state.of) {
    case "light":
      return <Light device={device} state={state} fixed={fixed} large={large} />;
    case "plug":
      return <OnOff label={name} on={state.on} fixed={fixed} large={large} onChange={(on) => device.send({ do: "switch plug", on }, { on })} />;
    case "heater":
      return <OnOff label={name} on={state.on} fixed={fixed} large={large} onChange={(on) => device.send({ do: "switch heater", on }, { on })} />;
    case "multisocket":
      return <Sockets device={device} sockets={state.sockets} fixed={fixed} />;
    case "automation":
      return <Shutter device={device} position={state.position} fixed={fixed} />;
    case "chronothermostat":
      return fixed ? null : <SetPoint device={device} state={state} />;
    case "lock":
      return fixed ? null : <Hold device={device} act="open lock" words={t("homes.act.open")} />;
    case "activation":
      return fixed ? null : <Hold device={device} act="activate" words={t("homes.act.activate")} />;
    case "camera":
      return <Camera device={device} on={state.on} fixed={fixed} large={large} />;
    default:
      return null;
  }
}

function Light({ device, state, fixed, large }: { device: Device; state: LightState; fixed: boolean; large: boolean }) {
  const { name } = device.module.value;
  const setLevel = (level: number): void => {
    if (level === 0) void device.send({ do: "set light", on: false }, { on: false });
    else void device.send({ do: "set light", on: true, level }, { on: true, level });
  };
  return (
    <>
      <OnOff label={name} on={state.on} fixed={fixed} large={large} onChange={(on) => device.send({ do: "set light", on }, { on })} />
      {state.level !== null && !fixed && (
        <div class="card-wide">
          {large && <strong>{t("homes.brightness")}</strong>}
          <Slider
            label={t("homes.brightness_of", { name })}
            look={state.on ? "" : "off"}
            value={state.level}
            words={(value) => (state.on || value !== state.level ? percent(value) : `${t("homes.state.off")}, ${percent(value)}`)}
            onChange={setLevel}
          />
        </div>
      )}
    </>
  );
}

/** Hue and saturation of a lamp, on the page of the device. */
export function LampColor({ device, color }: { device: Device; color: Color }) {
  const send = (next: Color): void => {
    void device.send({ do: "set light", on: true, color: next }, { on: true, color: next } as Partial<State>);
  };
  const degrees = (value: number): string => `${Math.round(value)}°`;
  return (
    <div class="stack">
      <label class="stack-label">
        <span>{t("homes.color.hue")}</span>
        <Slider look="hue" label={t("homes.color.hue")} max={360} value={color.hue} words={degrees} onChange={(hue) => send({ ...color, hue })} />
      </label>
      <label class="stack-label">
        <span>{t("homes.color.saturation")}</span>
        <Slider label={t("homes.color.saturation")} value={color.saturation} words={percent} onChange={(saturation) => send({ ...color, saturation })} />
      </label>
    </div>
  );
}

function Sockets({ device, sockets, fixed }: { device: Device; sockets: readonly boolean[]; fixed: boolean }) {
  if (fixed) return null;
  const send = (socket: number, on: boolean): void => {
    const wanted = sockets.map((before, index) => (index === socket ? on : before));
    void device.send({ do: "switch socket", socket, on }, { sockets: wanted } as Partial<State>);
  };
  return (
    <div class="card-wide">
      {sockets.map((on, index) => (
        <Switch key={index} label={t("homes.socket", { number: index + 1 })} on={on} onChange={(wanted) => send(index, wanted)} />
      ))}
    </div>
  );
}

function Shutter({ device, position, fixed }: { device: Device; position: number; fixed: boolean }) {
  if (fixed) return null;
  const { name } = device.module.value;
  const move = (wanted: number): void => void device.send({ do: "move shutter", position: wanted }, { position: wanted });
  return (
    <div class="card-wide shutter">
      <button type="button" class="icon-button" aria-label={t("homes.act.close_of", { name })} disabled={position === 0} onClick={() => move(0)}>
        <Icon name="down" />
      </button>
      <Slider label={t("homes.position_of", { name })} value={position} words={percent} onChange={move} />
      <button type="button" class="icon-button" aria-label={t("homes.act.open_of", { name })} disabled={position === 100} onClick={() => move(100)}>
        <Icon name="up" />
      </button>
    </div>
  );
}

export function setTemperature(device: Device, state: ThermostatState, setPoint: number): void {
  // A command with a mode would begin the boost again, and replace the end that the person chose.
  const wanted = state.mode === "boost" ? { setPoint } : { setPoint, mode: "manual" as const };
  void device.send({ do: "set thermostat", ...wanted }, wanted as Partial<State>);
}

function SetPoint({ device, state }: { device: Device; state: ThermostatState }) {
  return (
    <ColderWarmer device={device} state={state}>
      <strong>{temperatureWords(state.setPoint)}</strong>
      <span class="soft">{modeWords(state)}</span>
    </ColderWarmer>
  );
}

/** Two buttons that change the wanted temperature by a step, and words between them. */
export function ColderWarmer({ device, state, children }: { device: Device; state: ThermostatState; children: ComponentChildren }) {
  const { command, name } = device.module.value;
  const change = (by: number): void => setTemperature(device, state, boundSetPoint(state.setPoint + by, state.setPoint));
  return (
    <div class="card-wide set-point">
      {command && <IconButton icon="minus" label={t("homes.act.colder_of", { name })} onClick={() => change(-STEP)} />}
      <span class="set-point-value">{children}</span>
      {command && <IconButton icon="add" label={t("homes.act.warmer_of", { name })} onClick={() => change(STEP)} />}
    </div>
  );
}

export function modeWords({ mode, activationTime }: ThermostatState): string {
  const words = t(`homes.mode.${mode}`);
  return activationTime ? t("homes.mode_until", { mode: words, time: formatTime(new Date(activationTime)) }) : words;
}

function Hold({ device, act, words }: { device: Device; act: "open lock" | "activate"; words: string }) {
  const { name } = device.module.value;
  const question = t(act === "open lock" ? "homes.ask.open" : "homes.ask.activate", { name });
  return (
    <div class="card-wide">
      <HoldButton icon={act === "open lock" ? "door" : "key"} question={question} disabled={device.isPending.value} onHeld={() => void device.send({ do: act })}>
        {words}
      </HoldButton>
    </div>
  );
}

function Scene({ device }: { device: Device }) {
  const [started, setStarted] = useState(false);
  const run = async (): Promise<void> => {
    await device.send({ do: "run scene" });
    if (device.failure.value) return;
    // The gateway answers when the steps are stored. Whether each of them works is shown by the devices.
    setStarted(true);
    setTimeout(() => setStarted(false), 3_000);
  };
  return (
    <button type="button" disabled={device.isPending.value} aria-label={t("homes.act.run_of", { name: device.module.value.name })} onClick={() => void run()}>
      {t(started ? "homes.act.started" : "homes.act.run")}
    </button>
  );
}
