/** Data that a part of a page reads from an API when it is shown. */

import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { failureOf, type PageLink } from "../app/api";
import { formatTime, t } from "../app/i18n";
import { reachable } from "../app/reachable";
import { Button } from "./button";
import { Loading, Notice, Solution } from "./notice";

export interface Loaded<T> {
  readonly data: T | null;
  /** A sentence for the person, if the last request failed. Then the data is older. */
  readonly problem: string;
  /** Where the person can solve the problem, if there is a page for it. */
  readonly solution?: PageLink | null;
  /** When the data was loaded. */
  readonly at?: Date | null;
  readonly reload: () => Promise<void>;
}

interface State<T> {
  readonly key: string;
  readonly data: T | null;
  readonly problem: string;
  readonly solution: PageLink | null;
  readonly at: Date | null;
}

/**
 * Load data when `key` changes, and again when one of the inputs changes or on `reload`. Data of another key is never shown; with the same
 * key, the former data stays until the answer is there. If the gateway could not be reached, it is asked again when it is back.
 */
export function useLoad<T>(key: string, load: (closing: AbortSignal) => Promise<T>, inputs: readonly unknown[] = []): Loaded<T> {
  const [state, setState] = useState<State<T>>({ key, data: null, problem: "", solution: null, at: null });
  const shown = useRef(key);
  shown.current = key;
  const running = useRef<AbortController | null>(null);
  const reload = useCallback(async () => {
    if (shown.current !== key) return;
    running.current?.abort();
    const { signal } = (running.current = new AbortController());
    try {
      const data = await load(signal);
      if (!signal.aborted) setState({ key, data, problem: "", solution: null, at: new Date() });
    } catch (error) {
      const empty = { key, data: null, at: null };
      const { words: problem, solution } = failureOf(error);
      if (!signal.aborted) setState((last) => ({ ...(last.key === key ? last : empty), problem, solution }));
    }
  }, [key, ...inputs]);
  useEffect(() => {
    void reload();
    return () => running.current?.abort();
  }, [reload]);
  const reached = reachable.value;
  useEffect(() => {
    if (reached && state.problem) void reload();
  }, [reached]);
  return state.key === key ? { ...state, reload } : { data: null, problem: "", reload };
}

/** Says why the last request failed, what the person can do, and from when the shown data is. */
export function Problem({ of }: { of: Partial<Loaded<unknown>> }) {
  if (!of.problem) return null;
  return (
    <Notice kind="alarm" title={of.problem}>
      {of.data && of.at && <p>{t("common.as_of", { time: formatTime(of.at) })}</p>}
      <Solution of={of.solution} />
      {of.reload && (
        <Button look="quiet" icon="refresh" onClick={of.reload}>
          {t("common.again")}
        </Button>
      )}
    </Notice>
  );
}

/** Shows the data, that it is still loaded, or why it could not be loaded. */
export function Show<T>({ of, children }: { of: Loaded<T>; children: (data: T) => ComponentChildren }) {
  return (
    <>
      <Problem of={of} />
      {of.data !== null ? children(of.data) : !of.problem && <Loading />}
    </>
  );
}
