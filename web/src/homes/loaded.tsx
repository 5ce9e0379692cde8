/** Data that a part of a page reads from the API when it is shown. */

import type { ComponentChild } from "preact";
import { useEffect, useState } from "preact/hooks";
import { wordsFor } from "../app/api";
import { t } from "../app/i18n";
import { Button } from "../parts/button";
import { Loading, Notice } from "../parts/notice";

export interface Loaded<T> {
  readonly value: T | null;
  readonly problem: string;
  readonly reload: () => void;
}

/** Read again when an input changes. Until the answer is there, the former value stays. */
export function useLoaded<T>(read: (closing: AbortSignal) => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const [value, setValue] = useState<T | null>(null);
  const [problem, setProblem] = useState("");
  const [round, setRound] = useState(0);
  useEffect(() => {
    const closing = new AbortController();
    read(closing.signal).then(
      (found) => {
        if (closing.signal.aborted) return;
        setValue(found);
        setProblem("");
      },
      (error: unknown) => {
        if (!closing.signal.aborted) setProblem(wordsFor(error));
      },
    );
    return () => closing.abort();
  }, [...inputs, round]);
  return { value, problem, reload: () => setRound((before) => before + 1) };
}

/** Shows the data, that it is still loaded, or why it could not be loaded. */
export function Show<T>({ of, children }: { of: Loaded<T>; children: (value: T) => ComponentChild }) {
  return (
    <>
      {of.problem && (
        <Notice kind="alarm" title={of.problem}>
          <Button look="quiet" icon="refresh" onClick={of.reload}>
            {t("common.again")}
          </Button>
        </Notice>
      )}
      {of.value !== null ? children(of.value) : !of.problem && <Loading />}
    </>
  );
}
