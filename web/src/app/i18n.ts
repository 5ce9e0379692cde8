/** Texts in the person's language, and dates, numbers and units as the language writes them. */

import { computed, signal } from "@preact/signals";
import { OWN_ZONE } from "./local_time";

export const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français", it: "Italiano" } as const;
export type Language = keyof typeof LANGUAGES;

type Texts = Readonly<Record<string, string>>;
export type TextLoaders = Readonly<Record<Language, () => Promise<{ default: Texts }>>>;

const REMEMBERED = "domogate.language";

function isLanguage(code: string): code is Language {
  return Object.hasOwn(LANGUAGES, code);
}

/** The language that somebody chose in this browser. */
function remembered(): string {
  try {
    return localStorage.getItem(REMEMBERED) ?? "";
  } catch {
    return ""; // Storage can be switched off.
  }
}

function choose(): Language {
  const wanted = [remembered(), ...navigator.languages].map((tag) => tag.slice(0, 2).toLowerCase());
  return wanted.find(isLanguage) ?? "en";
}

export const language = signal<Language>(choose());

/** The language with the region of the browser, so that dates and numbers look as the person knows them. */
const locale = computed(() => navigator.languages.find((tag) => tag.slice(0, 2).toLowerCase() === language.value) ?? language.value);

const loaded: TextLoaders[] = [];
const texts = signal<Texts>({});

/** Load the texts of one area. They are there until the page is closed. */
export async function loadTexts(loaders: TextLoaders): Promise<void> {
  if (loaded.includes(loaders)) return;
  const module = await loaders[language.value]();
  loaded.push(loaders);
  texts.value = { ...texts.value, ...module.default };
}

/** Change the language, and keep it for this browser. */
export async function changeLanguage(code: Language): Promise<void> {
  try {
    localStorage.setItem(REMEMBERED, code);
  } catch {
    // The language holds until the page is closed.
  }
  await show(code);
}

/** Use the language of the person's account, unless somebody chose another one in this browser. */
export async function suggestLanguage(code: string): Promise<void> {
  if (isLanguage(code) && code !== language.value && !remembered()) await show(code);
}

async function show(code: Language): Promise<void> {
  const modules = await Promise.all(loaded.map((loaders) => loaders[code]()));
  language.value = code;
  texts.value = Object.assign({}, ...modules.map((module) => module.default)) as Texts;
  document.documentElement.lang = code;
}

/** The text with its {placeholders} filled. */
export function t(key: string, values: Readonly<Record<string, string | number>> = {}): string {
  const text = texts.value[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => (name in values ? String(values[name]) : whole));
}

/** The text `key.one` or `key.other`, with {number}. */
export function count(key: string, number: number, values: Readonly<Record<string, string | number>> = {}): string {
  const form = pluralRules({}).select(number) === "one" ? "one" : "other";
  return t(`${key}.${form}`, { number: formatNumber(number), ...values });
}

export function hasText(key: string): boolean {
  return key in texts.value;
}

/** Formats of the present language by their options. To make one costs more than to draw a card. */
function kept<Options, Format>(Make: new (locale: string, options: Options) => Format): (options: Options) => Format {
  const known = new Map<string, Format>();
  return (options) => {
    const key = `${locale.value} ${JSON.stringify(options)}`;
    const format = known.get(key) ?? new Make(locale.value, options);
    known.set(key, format);
    return format;
  };
}

const numberFormat = kept<Intl.NumberFormatOptions, Intl.NumberFormat>(Intl.NumberFormat);
const dateFormat = kept<Intl.DateTimeFormatOptions, Intl.DateTimeFormat>(Intl.DateTimeFormat);
const pluralRules = kept<Intl.PluralRulesOptions, Intl.PluralRules>(Intl.PluralRules);

export function formatNumber(value: number, options: Intl.NumberFormatOptions = {}): string {
  return numberFormat(options).format(value);
}

/** A number with a unit that the language knows, such as `celsius` or `percent`; others are written behind the number. */
export function formatUnit(value: number, unit: string, options: Intl.NumberFormatOptions = {}): string {
  if (unit === "percent" || unit === "celsius") return formatNumber(value, { style: "unit", unit, ...options });
  return `${formatNumber(value, options)} ${unit}`;
}

export function formatDate(at: Date, options: Intl.DateTimeFormatOptions = { dateStyle: "medium" }): string {
  return dateFormat(options).format(at);
}

/** "Nov 9 – 15, 2026". */
export function formatDates(from: Date, until: Date, options: Intl.DateTimeFormatOptions): string {
  return dateFormat(options).formatRange(from, until);
}

/** The time of today, or the date and time of another day, on the clocks of the zone. */
export function formatTime(at: Date, now: Date = new Date(), timeZone: string = OWN_ZONE): string {
  const day = (time: Date): string => formatDate(time, { dateStyle: "short", timeZone });
  const today = day(at) === day(now);
  const words = formatDate(at, { ...(today ? {} : { dateStyle: "medium" }), timeStyle: "short", timeZone });
  return onOneLine(words);
}

/** Keeps a time such as "10:41 AM" on one line. */
function onOneLine(words: string): string {
  return words.replace(/\s(?=[AP]M$)/, "\u00a0");
}

/** The time of day, with seconds. */
export function formatClock(at: Date): string {
  return onOneLine(formatDate(at, { timeStyle: "medium" }));
}

const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 30],
  ["month", 12],
];

/** "5 minutes ago", "in 2 hours". */
export function formatAgo(at: Date, now: Date = new Date()): string {
  let amount = (at.getTime() - now.getTime()) / 1000;
  for (const [unit, most] of STEPS) {
    if (Math.abs(amount) < most) return new Intl.RelativeTimeFormat(locale.value, { numeric: "auto" }).format(Math.round(amount), unit);
    amount /= most;
  }
  return formatDate(at);
}
