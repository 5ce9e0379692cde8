/** What the gateway answered: status, time, headers and body. */

import { useEffect } from "preact/hooks";
import { formatNumber, t } from "../app/i18n";
import type { Answer } from "./call";
import { Code } from "./code";
import { hasStatus } from "./errors";

/** Shows the answer, if there is one. A screen reader says the status. `explained`: whether the same page explains its errors. */
export function AnswerView({ answer, explained = false }: { answer: Answer | null; explained?: boolean }) {
  return (
    <>
      <p class="hidden" role="status">
        {answer && `${t("developers.answer.title")}: ${answer.status}`}
      </p>
      {answer && <Shown answer={answer} explained={explained} />}
    </>
  );
}

function Shown({ answer, explained }: { answer: Answer; explained: boolean }) {
  const good = answer.status < 400;
  return (
    <section class="answer" aria-label={t("developers.answer.title")}>
      <p class="answer-head">
        <strong class={`tag ${good ? "" : "alarm"}`}>{answer.status}</strong>{" "}
        <span class="soft">{t("developers.answer.time", { number: formatNumber(answer.milliseconds, { maximumFractionDigits: 0 }) })}</span>
      </p>
      {!good && !explained && hasStatus(answer.status) && (
        <p>
          <a href={`/developers/errors?status=${answer.status}`}>{t("developers.answer.causes", { status: answer.status })}</a>
        </p>
      )}
      <Body answer={answer} />
      {answer.cut && <p class="soft">{t(`developers.answer.cut_${answer.cut}`)}</p>}
      <details>
        <summary>{t("developers.answer.headers", { number: answer.headers.length })}</summary>
        <Code label={t("developers.answer.header_list")} text={answer.headers.map(([name, value]) => `${name}: ${value}`).join("\n")} />
      </details>
    </section>
  );
}

function Body({ answer: { body } }: { answer: Answer }) {
  useEffect(() => {
    if ("url" in body) return () => URL.revokeObjectURL(body.url);
    return undefined;
  }, [body]);
  if ("url" in body) {
    return (
      <p>
        {body.type.startsWith("image/") && <img class="answer-image" src={body.url} alt={t("developers.answer.image")} />}
        <a href={body.url} download>
          {t("developers.answer.download", { type: body.type, number: formatNumber(body.bytes) })}
        </a>
      </p>
    );
  }
  if (!body.text) return <p class="soft">{t("developers.answer.empty")}</p>;
  return <Code label={t("developers.answer.body")} text={pretty(body.text)} />;
}

/** JSON with line breaks; other texts as they are. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
