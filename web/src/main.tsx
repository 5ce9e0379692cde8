import { render } from "preact";
import { App } from "./app/app";
import { AREAS, loadArea } from "./app/areas";
import { language, loadTexts } from "./app/i18n";
import { segments, startRouter } from "./app/router";
import { startSession } from "./app/session";

const texts = {
  en: () => import("./texts/en.toml"),
  de: () => import("./texts/de.toml"),
  fr: () => import("./texts/fr.toml"),
  it: () => import("./texts/it.toml"),
};

document.documentElement.lang = language.value;
startRouter();
// The login, the texts and the script of the area do not wait for each other.
const session = startSession();
const area = AREAS.find(({ name }) => name === segments.value[0]);
if (area) loadArea(area).catch(() => undefined); // If it fails, the frame tries again and says so.
await Promise.all([loadTexts(texts), session]);
const place = document.getElementById("app");
if (place) render(<App />, place);
