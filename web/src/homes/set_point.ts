/** The set points that the pages offer. The API takes more: a thermostat that protects from heat may have 35 °C. */

export const LOWEST = 5;
export const HIGHEST = 30;
export const STEP = 0.5;

/** The wanted set point, rounded to a step. It is never further out of the usual range than the present one. */
export function boundSetPoint(wanted: number, present: number): number {
  return Math.min(Math.max(HIGHEST, present), Math.max(Math.min(LOWEST, present), Math.round(wanted / STEP) * STEP));
}
