/** An area with many pages: its navigation, and the page that the path names. */

import type { ComponentChild } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../app/i18n";
import { go, match, path, segments } from "../app/router";
import { Icon, type IconName } from "../parts/icons";
import { Refusal } from "../parts/refusal";

/**
 * A page in the navigation: its name, which is the first part of its path, and its icon. The title is `AREA.NAME.title`.
 * Pages of the same group follow each other. The title of the group is `AREA.nav.GROUP`.
 */
export type SidePage = readonly [name: string, icon: IconName, group?: string];

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
  const here = segments.value[1] ?? first;
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (start) go(`/${area}/${first}`, { replace: true });
  }, [start]);
  useEffect(() => setOpen(false), [path.value]);
  return (
    <div class="side-pages">
      <nav class={open ? "side-nav open" : "side-nav"} aria-label={t(`${area}.title`)}>
        {/* On a small screen this button opens the list. On a large screen the list is always open. */}
        <button type="button" class="side-menu" aria-expanded={open} onClick={() => setOpen(!open)}>
          {t(pages.some(([name]) => name === here) ? `${area}.${here}.title` : `${area}.title`)}
          <Icon name={open ? "up" : "down"} />
        </button>
        {[...new Set(pages.map(([, , group]) => group))].map((group) => (
          <div key={group} role="group" aria-label={group && t(`${area}.nav.${group}`)}>
            {group && <p aria-hidden="true">{t(`${area}.nav.${group}`)}</p>}
            {pages
              .filter(([, , of]) => of === group)
              .map(([name, icon]) => (
                <a key={name} href={`/${area}/${name}`} aria-current={here === name ? "page" : undefined}>
                  <Icon name={icon} />
                  <span>{t(`${area}.${name}.title`)}</span>
                </a>
              ))}
          </div>
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
  return <Refusal words={t("error.no_page")} />;
}
