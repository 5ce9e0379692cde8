/** A text that is long for a table: its beginning is shown, and the rest after a click. */

const LONGEST = 60;

export function Fold({ words }: { words: string }) {
  if (words.length <= LONGEST * 1.5) return <>{words}</>;
  const end = words.lastIndexOf(" ", LONGEST);
  const cut = end > 0 ? end : LONGEST;
  return (
    <details class="fold">
      <summary>{words.slice(0, cut)}</summary>
      {words.slice(cut).trimStart()}
    </details>
  );
}
