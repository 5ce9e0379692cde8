/** The homes of the person. With only one home, it is opened at once. */

import { useRef, useState } from "preact/hooks";
import { api } from "../app/api";
import { count, t } from "../app/i18n";
import { go } from "../app/router";
import { person } from "../app/session";
import { useRepeat } from "../kit/parts";
import { List, Row } from "../parts/list";
import { Show, useLoad } from "../parts/loaded";
import { Empty } from "../parts/notice";
import { PageTitle } from "../parts/page_title";
import type { HomeSummary } from "./model";

/** In seconds. */
const RELOAD = 30;
const RELOAD_EMPTY = 15;
/** A longer list has a search. */
const FEW = 8;

interface Listing {
  readonly items: readonly HomeSummary[];
  readonly next: string | null;
}

async function readAll(signal: AbortSignal): Promise<readonly HomeSummary[]> {
  const found: HomeSummary[] = [];
  let after: string | null = null;
  do {
    const page: Listing = await api.get<Listing>("/home/v1/homes", { query: { limit: 200, after: after ?? undefined }, signal });
    found.push(...page.items);
    after = page.next;
  } while (after);
  return found.sort((one, other) => one.name.localeCompare(other.name));
}

export function Homes() {
  const known = useRef(0);
  const list = useLoad("homes", async (closing) => {
    const found = await readAll(closing);
    const [only, ...others] = found;
    if (only && !others.length && !known.current && !history.state) go(`/homes/${only.id}`, { replace: true });
    known.current = found.length;
    return found;
  });
  // No stream reports the changes of all homes, or the first home of a person who has no home yet.
  useRepeat(list.reload, list.data?.length === 0 ? RELOAD_EMPTY : RELOAD);
  return (
    <section class="homes">
      {(list.data || list.problem) && <PageTitle words={t("homes.title")} />}
      <Show of={list}>{(homes) => (homes.length ? <Rows homes={homes} /> : <NoHome />)}</Show>
    </section>
  );
}

function Rows({ homes }: { homes: readonly HomeSummary[] }) {
  const [search, setSearch] = useState("");
  const hasSearch = homes.length > FEW;
  const wanted = hasSearch ? search.trim().toLocaleLowerCase() : "";
  const found = homes.filter(({ name }) => name.toLocaleLowerCase().includes(wanted));
  return (
    <>
      {hasSearch && <input type="search" class="search" aria-label={t("homes.search_homes")} placeholder={t("homes.search_homes")} value={search} onInput={(event) => setSearch(event.currentTarget.value)} />}
      {found.length ? (
        <List>
          {found.map((home) => (
            <Row key={home.id} icon="home" href={`/homes/${home.id}`} title={home.name} about={about(home)} />
          ))}
        </List>
      ) : (
        <Empty title={t("homes.nothing_found")} />
      )}
    </>
  );
}

function NoHome() {
  return (
    <Empty title={t("homes.none")}>
      {person.value?.operator ? (
        <p>
          {t("homes.none_operator")} <a href="/console/start">{t("homes.add")}</a>
        </p>
      ) : (
        <p>{t("homes.none_about")}</p>
      )}
    </Empty>
  );
}

function about({ role, rooms, modules, unreachable }: HomeSummary): string {
  const parts = [t(`homes.role.${role}`), count("homes.rooms", rooms), count("homes.devices", modules)];
  if (unreachable) parts.push(count("homes.unreachable", unreachable));
  return parts.join(" · ");
}
