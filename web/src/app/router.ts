/** The path of the page, and links that change it without loading the page again. */

import { computed, signal } from "@preact/signals";

const address = signal(new URL(location.href));

/** The path without a slash at its end; `/` for the door. */
export const path = computed(() => address.value.pathname.replace(/\/+$/, "") || "/");

/** The parts of the path: `["homes", "4c0a…"]`. */
export const segments = computed(() => path.value.split("/").filter(Boolean).map(decode));

export const query = computed(() => address.value.searchParams);

/** Whether the person followed a link of these pages, instead of opening this address directly. */
export let followedLink = false;

/** The question before the person leaves a page, if the page has one. It returns whether the person wants to leave. */
let question: (() => boolean) | null = null;

/** Ask before a link or the back button leads to another page. Returns a function that ends this. */
export function askBeforeLeaving(ask: () => boolean): () => void {
  question = ask;
  return () => {
    if (question === ask) question = null;
  };
}

function mayLeaveFor({ pathname }: URL): boolean {
  return pathname === address.value.pathname || !question || question();
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Go to a path of these pages. With `replace`, the back button does not return to the present one. */
export function go(target: string, options: { replace?: boolean } = {}): void {
  const next = new URL(target, location.href);
  if (next.origin !== location.origin) throw new Error("only paths of this gateway");
  if (next.href !== location.href) {
    if (options.replace) history.replaceState(null, "", next);
    else history.pushState(null, "", next);
  }
  const samePath = next.pathname === address.value.pathname;
  address.value = next;
  if (!samePath) goToTop();
}

/** Show the top of the page. A screen reader begins to read there, not at the link or the button that is gone. */
export function goToTop(): void {
  scrollTo(0, 0);
  document.getElementById("main")?.focus({ preventScroll: true });
}

/** Set a value of the query, or remove it with an empty text. The back button does not return to the value before. */
export function setQuery(name: string, value: string): void {
  const next = new URL(address.value);
  if (value) next.searchParams.set(name, value);
  else next.searchParams.delete(name);
  go(next.href, { replace: true });
}

/** Compare a pattern such as `/homes/:id/rooms/:room` with the path. Returns the parameters, or null if the path does not fit. */
export function match(pattern: string, given: readonly string[] = segments.value): Record<string, string> | null {
  const wanted = pattern.split("/").filter(Boolean);
  if (wanted.length !== given.length) return null;
  const found: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? "";
    if (part.startsWith(":")) found[part.slice(1)] = value;
    else if (part !== value) return null;
  }
  return found;
}

/** The paths that the gateway answers with this application (`PAGE_PATHS` in `console/surface.py`). */
const OWN = /^\/(?:homes|console|developers)?(?:\/|$)/;

function follow(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
  if (!OWN.test(link.pathname) || (link.hash && link.pathname === location.pathname)) return;
  event.preventDefault();
  if (!mayLeaveFor(new URL(link.href))) return;
  followedLink = true;
  go(link.href);
}

export function startRouter(): void {
  addEventListener("popstate", () => {
    const next = new URL(location.href);
    if (mayLeaveFor(next)) address.value = next;
    else history.pushState(null, "", address.value);
  });
  document.addEventListener("click", follow);
}
