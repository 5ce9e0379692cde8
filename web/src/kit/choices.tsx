/** Several of many options, with a search if there are too many to look through. */

import type { ComponentChild, ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count, t } from "../app/i18n";

/** A value of the API that is shown as it is, or a value and its words. */
export type Option = string | readonly [string, string];

/** A longer list has a search, and shows at most this number of options that are not chosen. */
const MOST_SHOWN = 40;

interface ChoicesProps {
  readonly label: string;
  readonly hint: string;
  readonly options: readonly Option[];
  /** Values that are offered although no option has them, for example of a room that was deleted. */
  readonly present: readonly string[];
  readonly chosen: readonly string[];
  readonly onChoose: (chosen: readonly string[]) => void;
  /** What is wrong with the choice. */
  readonly children: ComponentChildren;
}

export function Choices({ label, hint, options, present, chosen, onChoose, children }: ChoicesProps) {
  const [words, setWords] = useState("");
  const known = new Map<string, string | null>(options.map((option) => (typeof option === "string" ? [option, null] : option)));
  const offered = [...new Set([...known.keys(), ...present])];
  const wanted = words.trim().toLocaleLowerCase();
  const matching = offered.filter((option) => (known.get(option) ?? option).toLocaleLowerCase().includes(wanted));
  const some = new Set(matching.slice(0, MOST_SHOWN));
  const shown = offered.filter((option) => some.has(option) || chosen.includes(option));
  const hidden = matching.filter((option) => !shown.includes(option)).length;
  return (
    <fieldset class="field tick-list">
      <legend>{label}</legend>
      {hint && <p class="hint">{hint}</p>}
      {children}
      {offered.length > MOST_SHOWN && <input type="search" aria-label={`${label}: ${t("common.search")}`} placeholder={t("common.search")} value={words} onInput={(event) => setWords(event.currentTarget.value)} />}
      {shown.map((option) => (
        <label key={option}>
          <input type="checkbox" checked={chosen.includes(option)} onChange={(event) => onChoose(event.currentTarget.checked ? [...chosen, option] : chosen.filter((one) => one !== option))} />
          {wordsOf(known, option)}
        </label>
      ))}
      {hidden > 0 && <p class="hint">{count("common.more_to_search", hidden)}</p>}
    </fieldset>
  );
}

function wordsOf(known: ReadonlyMap<string, string | null>, option: string): ComponentChild {
  return known.get(option) ?? <code>{option}</code>;
}
