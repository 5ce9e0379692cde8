/** Descriptions of the OpenAPI documents: paragraphs, tables, and `code` between backquotes. */

export function Prose({ text }: { text: string }) {
  return (
    <>
      {text
        .trim()
        .split(/\n{2,}/)
        .map((block, index) => (block.startsWith("|") ? <ProseTable key={index} rows={block.split("\n")} /> : <p key={index}>{inline(block)}</p>))}
    </>
  );
}

/** A line with `code` between backquotes. */
export function inline(text: string) {
  return text.split("`").map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part));
}

function cells(row: string): readonly string[] {
  return row.replace(/^\||\|\s*$/g, "").split("|").map((cell) => cell.trim());
}

function ProseTable({ rows: [head = "", , ...rows] }: { rows: readonly string[] }) {
  return (
    <table class="prose-table">
      <thead>
        <tr>
          {cells(head).map((cell) => (
            <th key={cell} scope="col">
              {inline(cell)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row}>
            {cells(row).map((cell, index) => (
              <td key={index}>{inline(cell)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
