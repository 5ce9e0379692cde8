/** The editor of the estate file (CodeMirror). It is loaded only on this page. */

import { autocompletion, closeBrackets, completionKeymap, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { complete, type Schema } from "./completion";

export interface Problem {
  readonly line: number;
  readonly column: number;
  readonly words: string;
}

export interface Editor {
  setText(text: string): void;
  showProblems(problems: readonly Problem[]): void;
  goTo(line: number, column: number): void;
  close(): void;
}

interface EditorOptions {
  readonly host: HTMLElement;
  readonly label: string;
  readonly schema: Schema;
  /** Words of the search panel, by the English words of the library. */
  readonly phrases: Readonly<Record<string, string>>;
  readonly onChange: (text: string) => void;
}

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--sheet)", fontSize: "0.9rem" },
  "&.cm-focused": { outline: "3px solid var(--accent)" },
  ".cm-scroller": { fontFamily: 'ui-monospace, "Liberation Mono", monospace', lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { color: "var(--soft)", backgroundColor: "var(--ground)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "var(--wash)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--line)" },
  ".cm-tooltip, .cm-panels": { color: "var(--ink)", backgroundColor: "var(--sheet)", border: "1px solid var(--field-line)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { color: "var(--on-accent)", backgroundColor: "var(--accent)" },
  ".cm-completionDetail": { fontStyle: "normal", opacity: "1" },
  ".cm-diagnostic": { fontFamily: "system-ui, sans-serif", maxWidth: "40rem" },
  ".cm-textfield, .cm-button": { color: "var(--ink)", backgroundColor: "var(--sheet)", backgroundImage: "none", border: "1px solid var(--field-line)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  { tag: [tags.number, tags.bool, tags.keyword], color: "var(--warm)" },
  { tag: tags.comment, color: "var(--soft)" },
]);

function suggest(schema: Schema) {
  return ({ state, pos, explicit }: CompletionContext): CompletionResult | null => {
    const line = state.doc.lineAt(pos);
    const before = line.text.slice(0, pos - line.from);
    if (!explicit && !/[\w-]$|:\s$/.test(before)) return null;
    const found = complete(schema, state.doc.toString().split("\n"), line.number - 1, pos - line.from);
    if (!found?.suggestions.length) return null;
    return {
      from: line.from + found.from,
      options: found.suggestions.map(({ label, insert, about }) => ({ label, apply: insert, detail: about.slice(0, 80), type: insert.endsWith(" ") || insert.endsWith(":") ? "property" : "enum" })),
      validFor: /^[\w-]*$/,
    };
  };
}

/** The styles of the library need a shadow root: the Content-Security-Policy allows no style element in the page. */
export function openEditor({ host, label, schema, phrases, onChange }: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        closeBrackets(),
        yaml(),
        syntaxHighlighting(colours),
        autocompletion({ override: [suggest(schema)], icons: false }),
        search({ top: true }),
        highlightSelectionMatches(),
        keymap.of([...completionKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap]),
        EditorState.phrases.of(phrases),
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
        theme,
      ],
    }),
  });
  const offset = (line: number, column: number): number => {
    const found = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
    return Math.min(found.from + Math.max(column - 1, 0), found.to);
  };
  return {
    setText: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    showProblems: (problems) => {
      const found = problems.map(({ line, column, words }) => {
        const from = offset(line, column);
        return { from, to: Math.max(view.state.doc.lineAt(from).to, from), severity: "error" as const, message: words };
      });
      view.dispatch(setDiagnostics(view.state, found));
    },
    goTo: (line, column) => {
      const at = offset(line, column);
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
      view.focus();
    },
    close: () => view.destroy(),
  };
}
