/** The homes of the person. With only one home, it is opened at once. */

import { useEffect, useState } from "preact/hooks";
import { api, wordsFor } from "../app/api";
import { count, t } from "../app/i18n";
import { go } from "../app/router";
import { person } from "../app/session";
import { List, Row } from "../parts/list";
import { Empty, Loading, Notice } from "../parts/notice";
import type { HomeSummary } from "./model";

const RELOAD_EMPTY = 15_000;

interface Listing {
  readonly items: readonly HomeSummary[];
  readonly next: string | null;
}

async function readAll(): Promise<readonly HomeSummary[]> {
  const found: HomeSummary[] = [];
  let after: string | null = null;
  do {
    const page: Listing = await api.get<Listing>("/home/v1/homes", { query: { limit: 200, after: after ?? undefined } });
    found.push(...page.items);
    after = page.next;
  } while (after);
  return found.sort((one, other) => one.name.localeCompare(other.name));
}

export function Homes() {
  const [homes, setHomes] = useState<readonly HomeSummary[] | null>(null);
  const [problem, setProblem] = useState("");
  const read = async (): Promise<void> => {
    const found = await readAll();
    const [only, ...others] = found;
    if (only && !others.length && !history.state) go(`/homes/${only.id}`, { replace: true });
    else setHomes(found);
  };
  useEffect(() => {
    read().catch((error: unknown) => setProblem(wordsFor(error)));
  }, []);
  useEffect(() => {
    if (homes?.length !== 0) return;
    // No stream reports a home to a person who has none. A failed attempt leaves the list as it is.
    const timer = setInterval(() => void read().catch(() => undefined), RELOAD_EMPTY);
    return () => clearInterval(timer);
  }, [homes]);
  if (problem) return <Notice kind="alarm" title={problem} />;
  if (!homes) return <Loading />;
  return (
    <section class="homes">
      <h1>{t("homes.title")}</h1>
      {homes.length ? (
        <List>
          {homes.map((home) => (
            <Row key={home.id} icon="home" href={`/homes/${home.id}`} title={home.name} about={about(home)} />
          ))}
        </List>
      ) : (
        <Empty title={t("homes.none")}>
          {person.value?.operator ? (
            <p>
              {t("homes.none_operator")} <code>domogate estate import estate.yaml</code>
            </p>
          ) : (
            <p>{t("homes.none_about")}</p>
          )}
        </Empty>
      )}
    </section>
  );
}

function about({ role, rooms, modules, unreachable }: HomeSummary): string {
  const parts = [t(`homes.role.${role}`), count("homes.rooms", rooms), count("homes.devices", modules)];
  if (unreachable) parts.push(count("homes.unreachable", unreachable));
  return parts.join(" · ");
}
