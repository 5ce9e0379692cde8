import { render } from "preact";
import { App } from "./app/app";
import { isForEverybody } from "./app/areas";
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
await loadTexts(texts);
await startSession({ forEverybody: isForEverybody(segments.value[0]) });
const place = document.getElementById("app");
if (place) render(<App />, place);
