/** Shows the door or the area that the path names, after the login that it needs. */

import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { Door } from "../door/door";
import { Loading, Notice } from "../parts/notice";
import { pageTitle } from "../parts/page_title";
import { Refusal } from "../parts/refusal";
import { AREAS, loadArea, loadedArea, type Area, type AreaModule } from "./areas";
import { config } from "./config";
import { t } from "./i18n";
import { followedLink, segments } from "./router";
import { askForLogin, logIn, person, searching } from "./session";
import { Shell } from "./shell";

export function App() {
  return (
    <Shell>
      <Body />
    </Shell>
  );
}

function Body() {
  const [name] = segments.value;
  const area = AREAS.find((one) => one.name === name);
  const title = [...pageTitle.value, ...(area ? [t(`area.${area.name}.title`)] : []), config.name];
  useEffect(() => {
    document.title = [...new Set(title)].join(" · ");
  });
  if (!name) return <Door />;
  if (!area) return <Refusal words={t("error.no_page")} />;
  return <Gate key={area.name} area={area} />;
}

/**
 * Asks for the login that the area needs. The person who followed a link to the area sees the login page. The person who opened
 * its address sees the door first, because the address may be old or from somebody else.
 */
function Gate({ area }: { area: Area }) {
  const needed = area.needs !== "anyone" && !person.value;
  const asking = needed && !searching.value;
  useEffect(() => {
    if (asking && followedLink) logIn();
    else if (asking) askForLogin();
  }, [asking]);
  // Pages for everybody also depend on the person: they wait until the pages know whether somebody is logged in.
  if (needed || searching.value) return <Loading />;
  if (area.needs === "operator" && !person.value?.operator) return <Refusal words={t("error.operators_only")} />;
  return <Loaded area={area} />;
}

function Loaded({ area }: { area: Area }) {
  const [module, setModule] = useState<AreaModule | null>(() => loadedArea(area));
  const [failed, setFailed] = useState(false);
  const [broken, reset] = useErrorBoundary((error) => console.error(error));
  useEffect(() => {
    if (module) return;
    let current = true;
    loadArea(area)
      .then((loaded) => current && setModule(loaded))
      .catch(() => setFailed(true));
    return () => {
      current = false;
    };
  }, [area]);
  if (broken) {
    return (
      <Notice kind="alarm" title={t("error.page")}>
        <button type="button" onClick={reset}>
          {t("common.again")}
        </button>
      </Notice>
    );
  }
  // A new version of the gateway may have replaced the files of this page.
  if (failed) {
    return (
      <Notice kind="alarm" title={t("error.not_loaded")}>
        <button type="button" onClick={() => location.reload()}>
          {t("common.reload")}
        </button>
      </Notice>
    );
  }
  return module ? <module.Page /> : <Loading />;
}
