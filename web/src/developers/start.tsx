/** Getting started: from nothing to the first call. */

import { t } from "../app/i18n";
import { person } from "../app/session";
import { Head } from "../kit/parts";
import { LoginFirst } from "./login_first";

export function Start() {
  return (
    <>
      <Head title={t("developers.start.title")} about={t("developers.start.about")} />
      <LoginFirst why={t("developers.start.why_login")}>
        <p>{t("developers.start.hello", { name: person.value?.name ?? "" })}</p>
      </LoginFirst>
    </>
  );
}
