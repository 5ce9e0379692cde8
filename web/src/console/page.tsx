/** The console of operators: its navigation, and one page for each part of the gateway. */

import type { ComponentChild } from "preact";
import { useEffect } from "preact/hooks";
import { t } from "../app/i18n";
import { go, match, segments } from "../app/router";
import { Icon, type IconName } from "../parts/icons";
import { Notice } from "../parts/notice";
import { ApplicationPage, Applications } from "./applications";
import { Audit } from "./audit";
import { Drivers } from "./drivers";
import { Keys } from "./keys";
import { ModulePage } from "./module";
import { People } from "./people";
import { PersonPage } from "./person";
import { PlantPage } from "./plant";
import { Plants } from "./plants";
import { Safety, SafetyPage } from "./safety";
import { SigningKeys } from "./signing_keys";
import { WebhookPage, Webhooks } from "./webhooks";

export const texts = {
  en: () => import("./texts/en.toml"),
  de: () => import("./texts/de.toml"),
  fr: () => import("./texts/fr.toml"),
  it: () => import("./texts/it.toml"),
};

/** The pages in the navigation. The title is `console.NAME.title`. */
const PAGES: readonly (readonly [string, IconName])[] = [
  ["plants", "home"],
  ["people", "people"],
  ["applications", "code"],
  ["keys", "key"],
  ["drivers", "plug"],
  ["webhooks", "bell"],
  ["safety", "exit"],
  ["audit", "history"],
  ["signing_keys", "check"],
];

/** Paths below `/console`, and what they show. */
const ROUTES: Readonly<Record<string, (found: Readonly<Record<string, string>>) => ComponentChild>> = {
  plants: () => <Plants />,
  "plants/:id": ({ id = "" }) => <PlantPage key={id} id={id} />,
  "plants/:plant/modules/:id": ({ plant = "", id = "" }) => <ModulePage key={id} plant={plant} id={id} />,
  people: () => <People />,
  "people/:id": ({ id = "" }) => <PersonPage key={id} id={id} />,
  applications: () => <Applications />,
  "applications/:id": ({ id = "" }) => <ApplicationPage key={id} id={id} />,
  keys: () => <Keys />,
  drivers: () => <Drivers />,
  webhooks: () => <Webhooks />,
  "webhooks/:id": ({ id = "" }) => <WebhookPage key={id} id={id} />,
  safety: () => <Safety />,
  "safety/:id": ({ id = "" }) => <SafetyPage key={id} id={id} />,
  audit: () => <Audit />,
  signing_keys: () => <SigningKeys />,
};

export function Page() {
  const first = PAGES[0]?.[0] ?? "";
  const start = segments.value.length === 1;
  useEffect(() => {
    if (start) go(`/console/${first}`, { replace: true });
  }, [start]);
  return (
    <div class="console">
      <nav class="console-nav" aria-label={t("console.title")}>
        {PAGES.map(([name, icon]) => (
          <a key={name} href={`/console/${name}`} aria-current={segments.value[1] === name ? "page" : undefined}>
            <Icon name={icon} />
            <span>{t(`console.${name}.title`)}</span>
          </a>
        ))}
      </nav>
      <div class="console-page">{start ? null : body()}</div>
    </div>
  );
}

function body(): ComponentChild {
  for (const [pattern, show] of Object.entries(ROUTES)) {
    const found = match(`/console/${pattern}`);
    if (found) return show(found);
  }
  return <Notice kind="warn" title={t("error.no_page")} />;
}
