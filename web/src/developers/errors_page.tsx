/** Every error with its cause. In the demo a button causes it, and shows the request and the answer. */

import { useState } from "preact/hooks";
import { wordsFor } from "../app/api";
import { config } from "../app/config";
import { t } from "../app/i18n";
import { query } from "../app/router";
import { person } from "../app/session";
import { Head, Section } from "../kit/parts";
import { Button } from "../parts/button";
import { Notice } from "../parts/notice";
import { AnswerView } from "./answer";
import { HIDDEN, KEY_HEADER, send, type Answer, type Call } from "./call";
import { Code } from "./code";
import { ERRORS, hasStatus, type GatewayError } from "./errors";
import { LoginFirst } from "./login_first";
import { Missing, World, type Prepared } from "./world";

/** The first digit of the code: what the error is about. */
const GROUPS = [1, 2, 3, 4, 5] as const;

export function Errors() {
  // The answer of a call links to the errors with its status.
  const [words, setWords] = useState(query.value.get("status") ?? "");
  const wanted = words.trim().toLowerCase();
  const fits = ({ code, fault, statuses }: GatewayError): boolean => statuses.split(", ").includes(wanted) || (!hasStatus(Number(wanted)) && `${code} ${fault} ${statuses} ${t(`developers.errors.cause.${code}`)}`.toLowerCase().includes(wanted));
  const found = ERRORS.filter(fits);
  return (
    <>
      <Head title={t("developers.errors.title")} about={t("developers.errors.about")} />
      {config.demo.length > 0 ? (
        <LoginFirst why={t("developers.errors.why_login")}>
          <p class="soft">{t("developers.errors.how")}</p>
        </LoginFirst>
      ) : (
        <p class="soft">{t("developers.errors.only_demo")}</p>
      )}
      <input type="search" class="search" aria-label={t("developers.errors.search")} placeholder={t("developers.errors.search")} value={words} onInput={(event) => setWords(event.currentTarget.value)} />
      {GROUPS.map((group) => {
        const members = found.filter(({ code }) => Math.floor(code / 1000) === group);
        return (
          members.length > 0 && (
            <Section key={group} title={t(`developers.errors.group_${group}`)}>
              <ul class="errors">
                {members.map((error) => (
                  <ErrorRow key={error.code} error={error} />
                ))}
              </ul>
            </Section>
          )
        );
      })}
      {!found.length && <Notice title={t("common.nothing_found")} />}
    </>
  );
}

interface Result {
  readonly call: Call;
  readonly answer: Answer;
  readonly sent: number;
}

async function run(prepare: (world: World) => Prepared | Promise<Prepared>): Promise<Result> {
  const world = await World.load();
  try {
    const { times = 1, after, ...call } = await prepare(world);
    try {
      const answers = await Promise.all(Array.from({ length: times }, () => send(call)));
      const answer = answers.find(({ status }) => status >= 400) ?? answers[0];
      if (!answer) throw new Error("nothing was sent");
      return { call, answer, sent: times };
    } finally {
      await after?.();
    }
  } finally {
    world.close();
  }
}

function ErrorRow({ error: { code, fault, statuses, cause } }: { error: GatewayError }) {
  const [result, setResult] = useState<Result | null>(null);
  const [problem, setProblem] = useState("");
  const click = async (): Promise<void> => {
    setProblem("");
    try {
      setResult(await run(cause.prepare));
    } catch (failure) {
      setResult(null);
      setProblem(failure instanceof Missing ? t("developers.errors.missing") : wordsFor(failure));
    }
  };
  const offered = config.demo.length > 0 && person.value !== null;
  return (
    <li class="panel error" id={`error-${code}`}>
      <div class="error-head">
        <div>
          <h3>
            {fault} <span class="soft">{code}</span>
          </h3>
          <p class="error-statuses">
            {statuses.split(", ").map((status) => (
              <span key={status} class="tag">
                {status}
              </span>
            ))}
          </p>
        </div>
        {offered && (
          <Button label={t("developers.errors.cause_it_named", { fault })} onClick={click}>
            {t("developers.errors.cause_it")}
          </Button>
        )}
      </div>
      <p>{t(`developers.errors.cause.${code}`)}</p>
      {problem && <Notice kind="alarm" title={problem} />}
      {result && (
        <>
          {result.sent > 1 && <p class="soft">{t("developers.errors.sent", { number: result.sent })}</p>}
          <Code label={t("developers.errors.request")} text={requestText(result.call)} />
          <AnswerView answer={result.answer} explained />
        </>
      )}
    </li>
  );
}

const LONGEST_BODY = 500;

/** The request as it is sent, with dots instead of secrets. */
function requestText({ method, url, headers, body }: Call): string {
  const { pathname, search } = new URL(url);
  const shown = Object.entries(headers).map(([name, value]) => {
    if (name === "Authorization") return `${name}: Bearer ${HIDDEN}`;
    return name === KEY_HEADER ? `${name}: ${HIDDEN}` : `${name}: ${value}`;
  });
  const content = body && body.length > LONGEST_BODY ? `${body.slice(0, LONGEST_BODY)}…` : body;
  return [`${method} ${pathname}${search}`, ...shown, ...(content === null ? [] : ["", content])].join("\n");
}
