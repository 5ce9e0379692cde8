/** The errors that the client throws. `faults.ts` has a class for each fault of the gateway. */

/** The base class of all errors of this package. No error contains a token, a key or a secret. */
export class DomogateError extends Error {
  /** Whether the gateway may have executed the command, in any attempt. It is false for requests that only read. */
  mayBeDone = false;

  override get name(): string {
    return this.constructor.name;
  }
}

/** No complete answer came. */
export class NoAnswer extends DomogateError {
  constructor(message: string, mayBeDone = false) {
    super(message);
    this.mayBeDone = mayBeDone;
  }
}

/** The deadline of the call passed. */
export class DeadlineExceeded extends NoAnswer {}

/** The answer does not have the form that this version of the client expects, or it is too large. */
export class UnexpectedAnswer extends DomogateError {}

/** The login or the refresh of tokens failed. `error` is the code of OAuth 2.0, for example `access_denied`. */
export class LoginFailed extends DomogateError {
  constructor(
    readonly error: string,
    readonly description = "",
  ) {
    super(description ? `${error}: ${description}` : error);
  }
}

/** There are no tokens that still work. The person must log in again. */
export class LoginRequired extends LoginFailed {}

/** The gateway ended an event stream, and a new stream needs a change first. `code` is the reason, for example `key`. */
export class StreamEnded extends DomogateError {
  constructor(
    readonly code: string,
    readonly detail: string,
  ) {
    super(`${code}: ${detail}`);
  }
}

/** A delivery is not signed with the secret of the webhook, or is too old. */
export class WebhookNotVerified extends DomogateError {}

/** What is known about a refused request. */
export interface Refusal {
  /** The sentence of the gateway. */
  readonly text: string;
  readonly status: number;
  /** The name of the operation, for example `homeauto.readLight`. */
  readonly operation: string;
  /** The value of X-Request-Id. Give it to the operator of the gateway when you ask about an error. */
  readonly requestId: string;
  /** A word that does not change, if the answer has one: `camera_off`, or the end of a problem's type: `used`. */
  readonly reason: string;
  /** The milliseconds to wait, if the answer has Retry-After. */
  readonly retryAfter: number | undefined;
}

/** The gateway refused a request. The classes of `faults.ts` say why. */
export class Refused extends DomogateError implements Refusal {
  /** The number of the fault, or 0 if the answer does not name one fault. */
  static readonly code: number = 0;
  readonly text: string;
  readonly status: number;
  readonly operation: string;
  readonly requestId: string;
  readonly reason: string;
  readonly retryAfter: number | undefined;

  constructor(refusal: Refusal) {
    super(`${refusal.text} [${refusal.operation}, status ${refusal.status}, request ${refusal.requestId}]`);
    this.text = refusal.text;
    this.status = refusal.status;
    this.operation = refusal.operation;
    this.requestId = refusal.requestId;
    this.reason = refusal.reason;
    this.retryAfter = refusal.retryAfter;
  }

  get code(): number {
    return (this.constructor as typeof Refused).code;
  }
}

/** The subscription key or the token is not accepted (401). */
export class CredentialsRefused extends Refused {}

/** The person must do something on the account page first (469, 470). */
export class AccountBlocked extends Refused {}

/** A rate or a quota is used up. `retryAfter` is the time to wait. */
export class TooManyRequests extends Refused {
  static override readonly code: number = 1004;
}

/** The person or the application has no right to do this. */
export class Forbidden extends Refused {}

/** Something that the request names does not exist, or the person cannot see it. */
export class NotFound extends Refused {}

/** The request conflicts with the present state, for example because a ticket was used before. */
export class Conflict extends Refused {}

/** The request is not as the operation needs it. */
export class InvalidRequest extends Refused {}

/** The device did not do what was asked. */
export class DeviceFailed extends Refused {}

/** The gateway or a server behind it failed. */
export class GatewayFailed extends Refused {}

/** The gateway cannot answer now (503). `retryAfter` is the time to wait, if the answer has it. */
export class Unavailable extends GatewayFailed {}
