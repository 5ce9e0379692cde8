/** The head of the pages of one home: its name, and the links between its pages. */

import type { ComponentChildren } from "preact";
import { t } from "../app/i18n";
import { Icon, type IconName } from "../parts/icons";
import { PageTitle } from "../parts/page_title";
import { Refusal } from "../parts/refusal";
import type { Home } from "./model";

type Tab = "devices" | "energy" | "events" | "people" | "safety";

const TABS: readonly (readonly [Tab, IconName])[] = [
  ["devices", "home"],
  ["energy", "energy"],
  ["events", "history"],
  ["people", "people"],
  ["safety", "exit"],
];

export function Tabs({ home, current }: { home: Home; current: Tab }) {
  return (
    <nav class="tabs" aria-label={t("homes.tab.title")}>
      {TABS.filter(([tab]) => tab !== "safety" || home.site).map(([tab, icon]) => (
        <a key={tab} href={tab === "devices" ? `/homes/${home.id}` : `/homes/${home.id}/${tab}`} aria-current={tab === current ? "page" : undefined}>
          <Icon name={icon} />
          {t(`homes.tab.${tab}`)}
        </a>
      ))}
    </nav>
  );
}

/** A page about a home, beside the page with its devices. */
export function Subpage({ home, current, children }: { home: Home; current: Tab; children: ComponentChildren }) {
  return (
    <div class="subpage">
      <header class="page-head">
        <div>
          <p class="crumbs">
            <a href="/homes">{t("homes.title")}</a>
            <a href={`/homes/${home.id}`}>{home.name}</a>
          </p>
          <PageTitle words={t(`homes.tab.${current}`)} of={home.name} />
        </div>
      </header>
      <Tabs home={home} current={current} />
      {children}
    </div>
  );
}

/** Instead of a room or a device that does not exist, or that the person may not see. */
export function NotInHome({ home, words }: { home: Home; words: string }) {
  return <Refusal words={words} back={[`/homes/${home.id}`, home.name]} />;
}
