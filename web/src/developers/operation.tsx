/** One operation: try it, then what it takes and what it answers. */

import { t } from "../app/i18n";
import { Head, Section } from "../kit/parts";
import { Show, useLoad } from "../parts/loaded";
import { Notice } from "../parts/notice";
import { Code } from "./code";
import { listEntries, needsOf, readDocument, titleOf, type Body, type Entry, type Media } from "./openapi";
import { inline, Prose } from "./prose";
import { Address, REFERENCE } from "./reference";
import { ParameterList, SchemaView } from "./schema";
import { TryIt } from "./try_it";

export function OperationPage({ api, id }: { api: string; id: string }) {
  const document = useLoad(api, () => readDocument(api));
  return (
    <Show of={document}>
      {(found) => {
        const entry = listEntries(api, found).find(({ operation }) => operation.operationId === id);
        return entry ? <OperationView entry={entry} /> : <Notice kind="warn" title={t("error.no_page")} />;
      }}
    </Show>
  );
}

function OperationView({ entry }: { entry: Entry }) {
  const { api, document, operation, sent } = entry;
  return (
    <>
      <Head
        title={operation.summary}
        above={[
          [REFERENCE, t("developers.reference.title")],
          [`${REFERENCE}/${api}`, titleOf(document)],
        ]}
        about={<Address entry={entry} />}
      />
      {operation.deprecated && <Notice kind="warn" title={t("developers.reference.deprecated_about")} />}
      {operation.description && <Prose text={operation.description} />}
      {!sent && <Credentials entry={entry} />}
      {sent && (
        <Section title={t("developers.reference.parameters")}>
          <ParameterList parameters={operation.parameters ?? []} document={document} />
        </Section>
      )}
      {!sent && <TryIt key={`${api} ${operation.operationId}`} entry={entry} />}
      {operation.requestBody && (
        <Section title={t("developers.reference.body")}>
          <Content body={operation.requestBody} entry={entry} />
        </Section>
      )}
      <Section title={t("developers.reference.answers")}>
        <div class="answers">
          {Object.entries(operation.responses).map(([status, body]) => (
            <details key={status} open={status.startsWith("2")}>
              <summary>
                <span class={`tag ${status.startsWith("2") ? "" : "warn"}`}>{status}</span> <span>{inline((body.description ?? "").split("\n")[0] ?? "")}</span>
              </summary>
              {body.description?.includes("\n") && <Prose text={body.description.slice(body.description.indexOf("\n"))} />}
              <Content body={body} entry={entry} />
            </details>
          ))}
        </div>
      </Section>
    </>
  );
}

/** The credentials and scopes that the operation needs. */
function Credentials({ entry }: { entry: Entry }) {
  const needs = needsOf(entry);
  const words = [needs.key && t("developers.reference.needs_key"), needs.token && t("developers.reference.needs_token"), needs.other && t("developers.reference.needs_other", { name: needs.other })].filter(Boolean);
  return <p class="soft">{words.length ? t("developers.reference.needs", { what: words.join(" · ") }) : t("developers.reference.needs_nothing")}</p>;
}

function Content({ body, entry }: { body: Body; entry: Entry }) {
  return (
    <>
      {Object.entries(body.content ?? {}).map(([type, media]) => (
        <MediaView key={type} type={type} media={media} entry={entry} />
      ))}
    </>
  );
}

function MediaView({ type, media, entry }: { type: string; media: Media; entry: Entry }) {
  const example = media.example;
  return (
    <>
      {example !== undefined && <Code label={t("developers.reference.example", { type })} text={typeof example === "string" ? example : JSON.stringify(example, null, 2)} />}
      {media.schema && <SchemaView schema={media.schema} document={entry.document} />}
      {example === undefined && !media.schema && <p class="soft">{type}</p>}
    </>
  );
}
