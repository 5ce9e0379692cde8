/** A page that cannot be shown, with a way back. */

import type { PageLink } from "../app/api";
import { t } from "../app/i18n";
import { PageTitle } from "./page_title";

interface RefusalProps {
  readonly words: string;
  /** The page to go to; by default the first page. */
  readonly back?: PageLink;
}

export function Refusal({ words, back = ["/", t("common.to_door")] }: RefusalProps) {
  const [href, name] = back;
  return (
    <div class="refusal">
      <PageTitle words={words} />
      <p>
        <a class="button" href={href}>
          {name}
        </a>
      </p>
    </div>
  );
}
