/** The frame around every page: whose gateway it is, the areas, the language, the person. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../parts/icons";
import { Notice } from "../parts/notice";
import { Toasts } from "../parts/toast";
import { AREAS, mayUse } from "./areas";
import { config } from "./config";
import { changeLanguage, LANGUAGES, language, t, type Language } from "./i18n";
import { loginOf } from "./login_name";
import { reachable } from "./reachable";
import { path, segments } from "./router";
import { logIn, logOut, person, wanted } from "./session";

export function Shell({ children }: { children: ComponentChildren }) {
  return (
    <>
      <a class="skip" href="#main">
        {t("common.skip")}
      </a>
      <header class="bar">
        <a class="wordmark" href="/">
          {config.logo ? <img class="logo" src={config.logo} alt="" /> : <span class="gate" aria-hidden="true" />}
          <span>{config.name}</span>
        </a>
        <Navigation />
        <div class="bar-end">
          <PersonMenu />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {!reachable.value && <Notice kind="warn" title={t("error.unreachable")} />}
        {children}
      </main>
      <Toasts />
    </>
  );
}

function Navigation() {
  const offered = AREAS.filter((area) => mayUse(area, person.value));
  if (!offered.length || !segments.value.length) return null;
  return (
    <nav class="areas" aria-label={t("common.areas")}>
      {offered.map((area) => (
        <a key={area.name} href={`/${area.name}`} aria-current={segments.value[0] === area.name ? "page" : undefined}>
          <Icon name={area.icon} />
          <span>{t(`area.${area.name}.title`)}</span>
        </a>
      ))}
    </nav>
  );
}

export function LanguageSwitch() {
  return (
    <label class="language">
      <span class="hidden">{t("common.language")}</span>
      <select value={language.value} onChange={(event) => void changeLanguage(event.currentTarget.value as Language)}>
        {Object.entries(LANGUAGES).map(([code, name]) => (
          <option key={code} value={code}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Closes the menu when the person clicks elsewhere or presses Escape. */
function useClosing() {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event): void => {
      const inside = event.target instanceof Node && menu.current?.contains(event.target);
      const escape = event instanceof KeyboardEvent && event.key === "Escape";
      if (menu.current && (escape || (event.type === "click" && !inside))) menu.current.open = false;
    };
    document.addEventListener("click", close);
    document.addEventListener("keydown", close);
    return () => {
      document.removeEventListener("click", close);
      document.removeEventListener("keydown", close);
    };
  }, []);
  return menu;
}

function PersonMenu() {
  const menu = useClosing();
  if (!person.value) {
    return (
      <button type="button" class="quiet" onClick={() => logIn((path.value === "/" && wanted.value) || undefined)}>
        {t("common.log_in")}
      </button>
    );
  }
  return (
    <details class="menu" ref={menu}>
      <summary aria-label={t("common.account_of", { name: person.value.name })}>
        <Icon name="person" />
        <span class="menu-name">{person.value.name}</span>
      </summary>
      <div class="menu-body">
        <p class="soft">{loginOf(person.value.email)}</p>
        <a href="/auth/account">{t("common.account")}</a>
        <LanguageSwitch />
        <button type="button" class="quiet" onClick={logOut}>
          {t("common.log_out")}
        </button>
      </div>
    </details>
  );
}
