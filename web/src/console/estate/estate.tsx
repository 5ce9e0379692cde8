/** The estate file: edit it, see the difference, import it, and look at earlier imports. */

import { useEffect, useRef, useState } from "preact/hooks";
import { api, request, textOf } from "../../app/api";
import { count, formatNumber, t } from "../../app/i18n";
import { askBeforeLeaving } from "../../app/router";
import { Download } from "../../kit/download";
import { MANAGE, useList } from "../../kit/load";
import { ConfirmButton, Head, Section, when } from "../../kit/parts";
import { Table } from "../../kit/table";
import { Button } from "../../parts/button";
import { Switch } from "../../parts/field";
import { Show, useLoad } from "../../parts/loaded";
import { Notice } from "../../parts/notice";
import { toast } from "../../parts/toast";
import { Tag, valueWords } from "../values";
import { CodeField } from "./code_field";
import type { Difference, EstateImport, ImportSummary, RecordChange } from "./model";

const LONGEST = 120_000;
/** The number of names in the question before an import, for each kind of change. */
const MOST_NAMES = 5;
/** The gateway takes no longer document (`MAX_DOCUMENT` in `management/estate.py`). */
const MOST_CHARACTERS = 4 * 1024 * 1024;

async function readText(path: string): Promise<string> {
  return textOf(await request("GET", MANAGE + path, { timeout: LONGEST }));
}

export function Estate() {
  const present = useLoad("estate", async () => ({ text: await readText("/estate") }));
  return (
    <>
      <Head title={t("console.estate.title")} about={t("console.estate.about")}>
        <Download label={t("console.estate.export")} path={`${MANAGE}/estate`} name="estate.yaml" />
      </Head>
      <Show of={present}>{(document) => <Workplace present={document} onImported={present.reload} />}</Show>
    </>
  );
}

interface Text {
  readonly text: string;
}

function Workplace({ present, onImported }: { present: Text; onImported: () => Promise<void> }) {
  const [document, setDocument] = useState<Text>(present);
  const [text, setText] = useState(present.text);
  const [mistakes, setMistakes] = useState<number | null>(null);
  const [prune, setPrune] = useState(false);
  const [compared, setCompared] = useState<{ readonly text: string; readonly prune: boolean; readonly difference: Difference } | null>(null);
  const imports = useList<EstateImport>("/estate/imports");
  const upload = useRef<HTMLInputElement>(null);
  /** The text that the gateway has. After an import the estate is read again: changes that the person made in the meantime stay. */
  const known = useRef(present.text);
  useEffect(() => {
    if (text === known.current) setDocument(present);
    known.current = present.text;
  }, [present]);
  useWarning(text !== present.text);

  const compare = async (): Promise<void> => {
    const difference = await api.post<Difference>(`${MANAGE}/estate/difference`, { document: text, prune }, { timeout: LONGEST });
    setCompared({ text, prune, difference });
  };
  const importIt = async (): Promise<void> => {
    const summary = await api.post<ImportSummary>(`${MANAGE}/estate/import`, { document: text, prune }, { timeout: LONGEST });
    toast(`${t("console.estate.imported")} ${summaryWords(summary)}`);
    setCompared(null);
    known.current = text;
    await Promise.all([onImported(), imports.reload()]);
  };
  const open = async (input: HTMLInputElement): Promise<void> => {
    const [file] = input.files ?? [];
    if (file) setDocument({ text: await file.text() });
    input.value = "";
  };
  const isCompared = compared?.text === text && compared.prune === prune;
  return (
    <>
      {present.text.length > MOST_CHARACTERS ? (
        <Notice kind="warn" title={t("console.estate.too_large")} />
      ) : (
        <>
          <CodeField document={document} onChange={setText} onChecked={setMistakes} />
          <div class="buttons">
            <Button look="primary" disabled={mistakes !== 0} onClick={compare}>
              {t("console.estate.compare")}
            </Button>
            <Button onClick={() => upload.current?.click()}>{t("console.estate.open")}</Button>
            <Button disabled={text === present.text} onClick={() => setDocument({ text: present.text })}>
              {t("console.estate.reset")}
            </Button>
            <input ref={upload} hidden type="file" accept=".yaml,.yml" onChange={(event) => void open(event.currentTarget)} />
          </div>
          <div class="prune">
            <Switch label={t("console.estate.prune")} on={prune} onChange={setPrune} />
          </div>
          {isCompared && (
            <Section title={t("console.estate.difference")} actions={<ImportButton of={compared.difference} onImport={importIt} />}>
              <Changes of={compared.difference} />
            </Section>
          )}
        </>
      )}
      <Imports list={imports} onOpen={async (number) => setDocument({ text: await readText(`/estate/imports/${number}`) })} />
    </>
  );
}

/** Ask before the person leaves a page with changes that were not imported: another page of the gateway, or another site. */
function useWarning(isChanged: boolean): void {
  useEffect(() => {
    if (!isChanged) return;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener("beforeunload", warn);
    const stopAsking = askBeforeLeaving(() => confirm(t("console.estate.leave")));
    return () => {
      removeEventListener("beforeunload", warn);
      stopAsking();
    };
  }, [isChanged]);
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((before, one) => before + one, 0);
}

function summaryWords(summary: ImportSummary): string {
  return (["added", "updated", "removed"] as const).map((change) => `${valueWords("changed", change)} ${formatNumber(total(summary[change]))}`).join(" · ");
}

/** For example "Changed 2 (Hall, Lamp)". The names are those of the first records. */
function changesWords(difference: Difference): string {
  return (["added", "updated", "removed"] as const)
    .map((change) => {
      const names = difference.changes.filter((one) => one.change === change).map(({ name, id }) => name || id);
      const listed = names.length ? ` (${names.slice(0, MOST_NAMES).join(", ")}${names.length > MOST_NAMES ? ", …" : ""})` : "";
      return `${valueWords("changed", change)} ${formatNumber(total(difference[change]))}${listed}`;
    })
    .join(" · ");
}

/** The last question before an import: what it adds, changes and removes. */
function ImportButton({ of, onImport }: { of: Difference; onImport: () => Promise<void> }) {
  const removes = total(of.removed) > 0;
  const question = [t("console.estate.question", { changes: changesWords(of) }), removes ? t("console.estate.removes") : ""].filter(Boolean).join(" ");
  return <ConfirmButton label={t("console.estate.import")} question={question} look={removes ? "danger" : "primary"} onConfirm={onImport} />;
}

function Changes({ of: difference }: { of: Difference }) {
  const all = total(difference.added) + total(difference.updated) + total(difference.removed);
  return (
    <>
      <p>{summaryWords(difference)}</p>
      {all > difference.changes.length && <p class="soft">{count("console.estate.first_changes", difference.changes.length)}</p>}
      <Table<RecordChange>
        label={t("console.estate.difference")}
        list={{ data: difference.changes }}
        id={({ noun, change, id }) => `${noun} ${change} ${id}`}
        columns={[
          { title: t("console.estate.change"), value: ({ change }) => valueWords("changed", change), cell: ({ change }) => <Tag group="changed" value={change} kind={change === "removed" ? "alarm" : change === "updated" ? "warn" : ""} /> },
          { title: t("console.estate.noun"), value: ({ noun }) => valueWords("noun", noun) },
          { title: t("console.name"), value: ({ name }) => name },
          { title: t("console.estate.fields"), value: ({ fields }) => fields.join(", ") },
        ]}
        empty={t("console.estate.no_difference")}
      />
    </>
  );
}

function Imports({ list, onOpen }: { list: ReturnType<typeof useList<EstateImport>>; onOpen: (number: number) => Promise<void> }) {
  return (
    <Section title={t("console.estate.history")} about={t("console.estate.history_about")}>
      <Table
        label={t("console.estate.history")}
        list={list}
        id={({ number }) => String(number)}
        columns={[
          { title: t("console.audit.number"), value: ({ number }) => number },
          { title: t("console.orders.queued"), value: ({ at }) => at, cell: ({ at }) => when(at) },
          { title: t("console.orders.person"), value: ({ email }) => email ?? t("console.estate.command_line") },
          { title: t("console.estate.difference"), value: summaryWords },
        ]}
        actions={({ number, hasDocument }) => hasDocument && <Button look="quiet" onClick={() => onOpen(number)}>{t("console.estate.edit")}</Button>}
        empty={t("console.estate.no_imports")}
      />
    </Section>
  );
}
