/** Remembers whether the gateway may have executed the request of a call, in any attempt. */

import { DomogateError } from "./errors.js";
import { type Answer, Lost } from "./http.js";
import type { Operation } from "./operation.js";
import { isUncertain, refusalOf } from "./refusals.js";

/** The effect of one call. An uncertain attempt stays uncertain, even after the answers of later attempts. */
export class Effect {
  readonly #operation: Operation;
  #mayBeDone = false;

  constructor(operation: Operation) {
    this.#operation = operation;
  }

  /** Wait for an attempt. The command may be done unless the attempt was not sent, or its answer is a certain refusal. */
  async watch(attempt: Promise<Answer>): Promise<Answer> {
    const before = this.#mayBeDone;
    this.#mayBeDone = this.#operation.method !== "GET";
    try {
      const answer = await attempt;
      if (answer.status >= 400 && !isUncertain(refusalOf(answer, this.#operation.name))) this.#mayBeDone = before;
      return answer;
    } catch (error) {
      if (error instanceof Lost && !error.isSent) this.#mayBeDone = before;
      throw error;
    }
  }

  /** Wait for a token. Parallel calls get the same error of a refresh, so the error of a call with an effect is a copy. */
  async authorize<T>(tokens: Promise<T>): Promise<T> {
    return tokens.catch((error: unknown) => {
      throw this.#mayBeDone && error instanceof DomogateError ? (Object.create(error) as DomogateError) : error;
    });
  }

  /** Set `mayBeDone` of an error of the call. */
  mark(error: unknown): unknown {
    if (error instanceof DomogateError) error.mayBeDone = this.#mayBeDone;
    return error;
  }
}
