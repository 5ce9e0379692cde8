/** The dial of a thermostat: the measured temperature, and the wanted one to turn by finger, mouse or keys. */

import { useRef, useState } from "preact/hooks";
import { formatNumber, t } from "../app/i18n";
import { boundSetPoint, HIGHEST, LOWEST, STEP } from "./set_point";
import { temperatureWords } from "./words";

const START = 135; // degrees, clockwise from three o'clock: the arc is open at the bottom
const SWEEP = 270;
const RADIUS = 84;

interface DialProps {
  readonly label: string;
  readonly setPoint: number;
  readonly measured: number | null;
  readonly heating: boolean;
  readonly active: boolean;
  readonly disabled: boolean;
  readonly onChange: (setPoint: number) => void;
}

const shareOf = (value: number): number => (Math.min(HIGHEST, Math.max(LOWEST, value)) - LOWEST) / (HIGHEST - LOWEST);

function point(share: number, radius = RADIUS): [number, number] {
  const angle = ((START + SWEEP * share) * Math.PI) / 180;
  return [100 + radius * Math.cos(angle), 100 + radius * Math.sin(angle)];
}

function arc(from: number, to: number): string {
  const [x1, y1] = point(from);
  const [x2, y2] = point(to);
  return `M${x1} ${y1}A${RADIUS} ${RADIUS} 0 ${SWEEP * (to - from) > 180 ? 1 : 0} 1 ${x2} ${y2}`;
}

export function Dial({ label, setPoint, measured, heating, active, disabled, onChange }: DialProps) {
  const [turned, setTurned] = useState<number | null>(null);
  const drawing = useRef<SVGSVGElement>(null);
  const wanted = turned ?? setPoint;
  const turnTo = (event: PointerEvent): void => {
    const box = drawing.current?.getBoundingClientRect();
    if (!box) return;
    const angle = (Math.atan2(event.clientY - box.top - box.height / 2, event.clientX - box.left - box.width / 2) * 180) / Math.PI;
    const share = ((angle - START + 720) % 360) / SWEEP;
    setTurned(boundSetPoint(LOWEST + (share > 1 ? (share > 1.17 ? 0 : 1) : share) * (HIGHEST - LOWEST), setPoint));
  };
  const finish = (): void => {
    if (turned !== null && turned !== setPoint) onChange(turned);
    setTurned(null);
  };
  const keys: Readonly<Record<string, number>> = {
    ArrowUp: wanted + STEP,
    ArrowRight: wanted + STEP,
    ArrowDown: wanted - STEP,
    ArrowLeft: wanted - STEP,
    PageUp: wanted + 2,
    PageDown: wanted - 2,
    Home: LOWEST,
    End: HIGHEST,
  };
  const [knobX, knobY] = point(shareOf(wanted));
  return (
    <svg
      ref={drawing}
      class={`dial ${heating ? "heating" : "cooling"} ${active ? "active" : ""}`}
      viewBox="0 0 200 200"
      role="slider"
      tabIndex={disabled ? -1 : 0}
      aria-label={label}
      aria-valuemin={Math.min(LOWEST, wanted)}
      aria-valuemax={Math.max(HIGHEST, wanted)}
      aria-valuenow={wanted}
      aria-valuetext={temperatureWords(wanted)}
      aria-disabled={disabled}
      onKeyDown={(event) => {
        const next = keys[event.key];
        if (next === undefined || disabled) return;
        event.preventDefault();
        setTurned(boundSetPoint(next, setPoint));
      }}
      onKeyUp={(event) => event.key in keys && finish()}
      onBlur={finish}
    >
      <path class="dial-track" d={arc(0, 1)} />
      {measured !== null && <path class="dial-gap" d={arc(...sorted(shareOf(measured), shareOf(wanted)))} />}
      <circle class="dial-knob" cx={knobX} cy={knobY} r="11" />
      {/* Only the ring takes a pointer: a finger that scrolls the page may touch the numbers. */}
      <path
        class="dial-ring"
        d={arc(0, 1)}
        onPointerDown={(event) => {
          if (disabled) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          turnTo(event);
        }}
        onPointerMove={(event) => turned !== null && turnTo(event)}
        onPointerUp={finish}
        onPointerCancel={() => setTurned(null)}
      />
      <text class="dial-wanted" x="100" y="106">
        {formatNumber(wanted, { minimumFractionDigits: 1 })}°
      </text>
      <text class="dial-measured" x="100" y="134">
        {measured === null ? "" : t("homes.state.now", { value: temperatureWords(measured) })}
      </text>
    </svg>
  );
}

function sorted(one: number, other: number): [number, number] {
  return one < other ? [one, other] : [other, one];
}
