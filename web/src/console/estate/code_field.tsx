/** The editor in the page, and below it the mistakes that the gateway finds while the person types. */

import { useEffect, useRef, useState } from "preact/hooks";
import { api, wordsFor } from "../../app/api";
import { count, t } from "../../app/i18n";
import { MANAGE } from "../../kit/load";
import { Loading, Notice } from "../../parts/notice";
import type { Schema } from "./completion";
import type { Editor } from "./editor";
import type { EstateCheck, EstateProblem } from "./model";

/** The text is checked when the person stops typing for this time. */
const PAUSE = 500;

/** The words of the search panel of the editor. */
const PHRASES = { Find: "find", Replace: "replace", next: "next", previous: "previous", all: "all", replace: "replace", "replace all": "replace_all", "match case": "match_case", "by word": "by_word", regexp: "regexp", close: "close" };

interface CodeFieldProps {
  /** A new object replaces the text of the editor. */
  readonly document: { readonly text: string };
  readonly onChange: (text: string) => void;
  /** The number of mistakes; null while the text is not checked yet. */
  readonly onChecked: (mistakes: number | null) => void;
}

export function CodeField({ document, onChange, onChecked }: CodeFieldProps) {
  const host = useRef<HTMLDivElement>(null);
  const [editor, setEditor] = useState<Editor | null>(null);
  const [problem, setProblem] = useState("");
  const [found, setFound] = useState<EstateCheck | null>(null);
  const changed = useRef<(text: string) => void>(() => undefined);

  useEffect(() => {
    const closing = new AbortController();
    void (async () => {
      const [{ openEditor }, schema] = await Promise.all([import("./editor"), api.get<Schema>(`${MANAGE}/estate/schema`, { signal: closing.signal })]);
      if (closing.signal.aborted || !host.current) return;
      const phrases = Object.fromEntries(Object.entries(PHRASES).map(([words, name]) => [words, t(`console.estate.find.${name}`)]));
      const opened = openEditor({ host: host.current, label: t("console.estate.document"), schema, phrases, onChange: (text) => changed.current(text) });
      closing.signal.addEventListener("abort", () => opened.close());
      setEditor(opened);
    })().catch((error: unknown) => {
      if (!closing.signal.aborted) setProblem(wordsFor(error));
    });
    return () => closing.abort();
  }, []);

  useEffect(() => {
    let timer = 0;
    let checking = new AbortController();
    const check = async (text: string): Promise<void> => {
      checking = new AbortController();
      const { signal } = checking;
      try {
        const answer = await api.post<EstateCheck>(`${MANAGE}/estate/check`, { document: text }, { signal, timeout: 60_000 });
        if (signal.aborted) return;
        setFound(answer);
        setProblem("");
        editor?.showProblems(answer.problems.map((one) => ({ line: one.line, column: one.column, words: wordsOf(one) })));
        onChecked(answer.total);
      } catch (error) {
        if (!signal.aborted) setProblem(wordsFor(error));
      }
    };
    changed.current = (text) => {
      clearTimeout(timer);
      checking.abort();
      onChange(text);
      onChecked(null);
      timer = window.setTimeout(() => void check(text), PAUSE);
    };
    editor?.setText(document.text);
    return () => {
      clearTimeout(timer);
      checking.abort();
    };
  }, [editor, document]);

  return (
    <>
      <div ref={host} class="editor" />
      {!editor && !problem && <Loading />}
      {problem && <Notice kind="alarm" title={problem} />}
      <Mistakes found={found} onChoose={({ line, column }) => editor?.goTo(line, column)} />
    </>
  );
}

export function wordsOf({ problem, allowed, hint }: EstateProblem): string {
  return [problem, allowed && t("console.estate.allowed", { values: allowed }), hint].filter(Boolean).join(". ");
}

function Mistakes({ found, onChoose }: { found: EstateCheck | null; onChoose: (problem: EstateProblem) => void }) {
  if (!found) return null;
  if (!found.total) {
    return (
      <p class="soft" role="status">
        {t("console.estate.no_mistake")}
      </p>
    );
  }
  return (
    <>
      <p class="problem" role="status">
        {count("console.estate.mistakes", found.total)}
      </p>
      <ul class="mistakes">
        {found.problems.map((one) => (
          <li key={`${one.line} ${one.column} ${one.problem}`}>
            <button type="button" class="quiet" onClick={() => onChoose(one)}>
              {t("console.estate.line", { number: one.line })}
            </button>
            <span>
              <code>{one.path}</code> {wordsOf(one)}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
