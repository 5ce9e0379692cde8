/** A page that cannot be shown, with a way back. */

import { t } from "../app/i18n";

interface RefusalProps {
  readonly words: string;
  /** The address and the name of the page to go to; by default the first page. */
  readonly back?: readonly [string, string];
}

export function Refusal({ words, back = ["/", t("common.to_door")] }: RefusalProps) {
  const [href, name] = back;
  return (
    <div class="refusal">
      <h1>{words}</h1>
      <p>
        <a class="button" href={href}>
          {name}
        </a>
      </p>
    </div>
  );
}
