/** Logs a demo user in with one click: it fills in the ordinary login form with the public password of the demo. */

import type { DemoUser } from "../app/config";
import { hasText, t } from "../app/i18n";

const FORM = "/auth/login";

/** What this user shows, in a few words. */
export function aboutUser({ email }: DemoUser): string {
  const key = `door.demo.people.${email.split("@")[0] ?? ""}`;
  return hasText(key) ? t(key) : email;
}

/** Returns false if the login page refuses, for example because somebody changed the password. */
export async function logInAs(user: DemoUser): Promise<boolean> {
  const page = await fetch(`${FORM}?switch=1&return_to=/auth/account`);
  const document = new DOMParser().parseFromString(await page.text(), "text/html");
  const csrf = document.querySelector<HTMLInputElement>("input[name=csrf]")?.value ?? "";
  const answer = await fetch(FORM, {
    method: "POST",
    body: new URLSearchParams({ csrf, email: user.email, password: user.password }),
    redirect: "manual",
  });
  return answer.type === "opaqueredirect";
}
