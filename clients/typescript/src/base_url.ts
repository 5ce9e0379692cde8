import { DomogateError } from "./errors.js";

/** The address of the gateway without a slash at its end. Throws for a text that is not a URL of HTTP. */
export function baseUrlOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || !url.host) {
    throw new DomogateError(`baseUrl must begin with https:// or http:// and name a host, but it is ${JSON.stringify(text)}`);
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new DomogateError("baseUrl must be only the address of the gateway, without a user, a query and a fragment");
  }
  return text.replace(/\/+$/, "");
}
