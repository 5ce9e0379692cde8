/** Opens a home, says whether it is live, and shows a page about it. */

import type { ComponentChild } from "preact";
import { useEffect, useState } from "preact/hooks";
import { formatTime, t } from "../app/i18n";
import { Icon } from "../parts/icons";
import { Loading } from "../parts/notice";
import { Refusal } from "../parts/refusal";
import type { Home } from "./model";
import { OpenHome } from "./store";

interface WithHomeProps {
  readonly id: string;
  readonly show: (open: OpenHome & { readonly known: Home }) => ComponentChild;
}

/** One stream stays open while the person goes from page to page of the same home. Another home needs another `key`. */
export function WithHome({ id, show }: WithHomeProps) {
  const [open] = useState(() => new OpenHome(id));
  useEffect(() => () => open.close(), [open]);
  const problem = open.problem.value;
  if (!open.home.value) {
    if (!problem) return <Loading />;
    const lost = problem.status === 403 || problem.status === 404;
    return <Refusal words={lost ? t("homes.no_access") : problem.words} back={problem.solution ?? ["/homes", t("homes.title")]} />;
  }
  return (
    <>
      <LiveState open={open} />
      {show(open as OpenHome & { readonly known: Home })}
    </>
  );
}

/** Says since when the page is not live. If this lasts only a moment, no message is shown. */
function LiveState({ open }: { open: OpenHome }) {
  const { live, since } = open.liveness.value;
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (live) return;
    const timer = setTimeout(() => setLate(true), 1_500);
    return () => clearTimeout(timer);
  }, [live]);
  return (
    <div role="status">
      {!live && late && (
        <p class="not-live">
          <Icon name="offline" />
          {t("homes.not_live", { time: formatTime(since) })}
        </p>
      )}
    </div>
  );
}
