/** The webhook test of this tab. It is only in memory, because it has a secret. It stays while the person looks at other pages. */

import { effect, signal } from "@preact/signals";
import { api } from "../app/api";
import { person } from "../app/session";
import type { Home } from "../homes/model";
import { readHome } from "./lists";

export interface Delivery {
  readonly at: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly whole: boolean;
}

export interface Receiver {
  readonly id: string;
  readonly url: string;
  readonly expiresAt: string;
  readonly deliveries: readonly Delivery[];
}

interface WebhookTest {
  readonly receiver: Receiver;
  readonly webhook: string;
  readonly home: Home;
  readonly ended: boolean;
}

const RECEIVERS = "/developer/v1/receivers";

/** The running test, or the last one after its receiver ended. */
export const test = signal<WebhookTest | null>(null);
export const chosenHome = signal("");
/** The secret in its field. The person can change it. */
export const secret = signal("");

let timer: number | undefined;

/** Make a receiver and a webhook to it. The earlier test ends. */
export async function beginTest(home: string): Promise<void> {
  await removeTest();
  const [receiver, whole] = await Promise.all([api.post<Receiver>(RECEIVERS), readHome(home)]);
  const webhook = await api.post<{ id: string; secret: string }>("/webhooks", { plantId: home, url: receiver.url });
  secret.value = webhook.secret;
  test.value = { receiver, webhook: webhook.id, home: whole, ended: false };
  timer = setTimeout(() => void endTest(), Date.parse(receiver.expiresAt) - Date.now());
}

export async function readDeliveries(): Promise<void> {
  const current = test.value;
  if (!current || current.ended) return;
  const receiver = await api.get<Receiver>(`${RECEIVERS}/${current.receiver.id}`);
  if (test.value?.webhook === current.webhook) test.value = { ...test.value, receiver };
}

/** Remove the webhook with its receiver. The received deliveries are still shown. */
async function endTest(): Promise<void> {
  clearTimeout(timer);
  const current = test.value;
  if (!current || current.ended) return;
  test.value = { ...current, ended: true };
  await Promise.allSettled([api.delete(`/webhooks/${current.webhook}`), api.delete(`${RECEIVERS}/${current.receiver.id}`)]);
}

async function removeTest(): Promise<void> {
  const ending = endTest();
  test.value = null;
  await ending;
}

// The gateway ends the webhook with the grant of the pages, so there is nothing to remove after a logout.
effect(() => {
  if (person.value) return;
  clearTimeout(timer);
  test.value = null;
  chosenHome.value = secret.value = "";
});
