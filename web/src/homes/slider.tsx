/** A slider that follows the finger and sends only the value at which it is released. */

import { useState } from "preact/hooks";

interface SliderProps {
  readonly label: string;
  readonly value: number;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
  readonly words: (value: number) => string;
  readonly onChange: (value: number) => void;
  readonly look?: string;
  readonly disabled?: boolean;
}

export function Slider({ label, value, min = 0, max = 100, step = 1, words, onChange, look = "", disabled = false }: SliderProps) {
  const [dragged, setDragged] = useState<number | null>(null);
  const shown = dragged ?? value;
  return (
    <input
      type="range"
      class={`slider ${look}`}
      aria-label={label}
      aria-valuetext={words(shown)}
      min={min}
      max={max}
      step={step}
      value={shown}
      disabled={disabled}
      onInput={(event) => setDragged(event.currentTarget.valueAsNumber)}
      onChange={(event) => {
        setDragged(null);
        onChange(event.currentTarget.valueAsNumber);
      }}
    />
  );
}
