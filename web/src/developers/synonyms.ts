/** Everyday words for the words of the reference, so that a search for "lamp" finds lights. */

const PHRASES = /\b(?:turn|switch) (?:on|off)\b/g;

/** Each word finds also the operations with one of these words. */
const SYNONYMS: ReadonlyMap<string, readonly string[]> = new Map([
  ["lamp", ["light"]],
  ["bulb", ["light"]],
  ["dimmer", ["light"]],
  ["switch", ["set light", "set plug", "commands"]],
  ["turn", ["set light", "set plug", "commands"]],
  ["socket", ["plug"]],
  ["outlet", ["plug"]],
  ["energy", ["consumption"]],
  ["power", ["consumption"]],
  ["door", ["lock"]],
  ["unlock", ["open lock"]],
  ["gate", ["lock"]],
  ["heating", ["thermostat"]],
  ["heat", ["thermostat"]],
  ["temperature", ["thermostat"]],
  ["climate", ["thermostat"]],
  ["house", ["plant", "home"]],
  ["room", ["ambient"]],
  ["device", ["module"]],
  ["event", ["webhook"]],
]);

/** Whether the text has each of the words, or a synonym of it. */
export function matches(text: string, words: string): boolean {
  const searched = text.toLowerCase();
  const wanted = words.trim().toLowerCase().replace(PHRASES, "switch").split(/\s+/);
  return wanted.every((word) => [word, ...synonymsOf(word)].some((one) => searched.includes(one)));
}

function synonymsOf(word: string): readonly string[] {
  return SYNONYMS.get(word) ?? SYNONYMS.get(word.replace(/s$/, "")) ?? [];
}
