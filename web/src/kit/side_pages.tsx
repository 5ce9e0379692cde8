/** An area with many pages: its navigation, and the page that the path names. */

import type { ComponentChild } from "preact";
import { useEffect } from "preact/hooks";
import { t } from "../app/i18n";
import { go, match, segments } from "../app/router";
import { Icon, type IconName } from "../parts/icons";
import { Notice } from "../parts/notice";

/** A page in the navigation: its name, which is the first part of its path, and its icon. The title is `AREA.NAME.title`. */
export type SidePage = readonly [string, IconName];

/** Paths below the area, and what they show. */
export type Routes = Readonly<Record<string, (found: Readonly<Record<string, string>>) => ComponentChild>>;

interface SidePagesProps {
  /** The first part of all paths. The title of the navigation is `AREA.title`. */
  readonly area: string;
  readonly pages: readonly SidePage[];
  readonly routes: Routes;
}

export function SidePages({ area, pages, routes }: SidePagesProps) {
  const first = pages[0]?.[0] ?? "";
  const start = segments.value.length === 1;
  useEffect(() => {
    if (start) go(`/${area}/${first}`, { replace: true });
  }, [start]);
  return (
    <div class="side-pages">
      <nav class="side-nav" aria-label={t(`${area}.title`)}>
        {pages.map(([name, icon]) => (
          <a key={name} href={`/${area}/${name}`} aria-current={segments.value[1] === name ? "page" : undefined}>
            <Icon name={icon} />
            <span>{t(`${area}.${name}.title`)}</span>
          </a>
        ))}
      </nav>
      <div>{start ? null : body(area, routes)}</div>
    </div>
  );
}

function body(area: string, routes: Routes): ComponentChild {
  for (const [pattern, show] of Object.entries(routes)) {
    const found = match(`/${area}/${pattern}`);
    if (found) return show(found);
  }
  return <Notice kind="warn" title={t("error.no_page")} />;
}
