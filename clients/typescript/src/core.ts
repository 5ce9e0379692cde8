/** The parts of the client below its operations. The pages of the gateway are built with them. */

export { ETagCache } from "./cache.js";
export { DomogateError, type Refusal } from "./errors.js";
export { type Exchange, exchange } from "./exchange.js";
export { type Answer, type Fetch, type Limits, Lost, send } from "./http.js";
export { base64Url, randomText } from "./login.js";
export { withQuery } from "./operation.js";
export { readRefusal } from "./problems.js";
export { randomKey, RETRIES, type Retries } from "./retries.js";
export { EventParser, type Message } from "./sse.js";
export { readClaims } from "./tokens.js";
