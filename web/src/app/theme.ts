/** The colours of the style sheet, for drawings that CSS cannot reach (charts on a canvas). */

import { signal } from "@preact/signals";

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Changes with the colour scheme of the device. Read it in a component that calls `colour`. */
export const scheme = signal<"light" | "dark">(dark.matches ? "dark" : "light");
dark.addEventListener("change", () => {
  scheme.value = dark.matches ? "dark" : "light";
});

/** The value of a token, such as `accent`. */
export function colour(token: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${token}`).trim();
}
