/** Asks for a login on a page that everybody may read. In the demo, one click logs a demo user in. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { config } from "../app/config";
import { t } from "../app/i18n";
import { logIn, person } from "../app/session";
import { aboutUser, logInAs } from "../door/demo";
import { Head } from "../kit/parts";
import { Button } from "../parts/button";
import { Select } from "../parts/field";
import { toast } from "../parts/toast";

/** Shows its children to a person who is logged in, and to others how to log in. `why` says what needs the login. */
export function LoginFirst({ why, children }: { why: string; children: ComponentChildren }) {
  if (person.value) return <>{children}</>;
  return (
    <section class="panel login-first" aria-label={t("common.log_in")}>
      <p>{why}</p>
      {config.demo.length > 0 && <DemoLogin />}
      <Button look={config.demo.length ? "quiet" : "primary"} onClick={() => logIn()}>
        {config.demo.length ? t("developers.log_in_other") : t("common.log_in")}
      </Button>
    </section>
  );
}

/** A page for people who are logged in. Its texts are below `developers.PAGE`. */
export function LoginPage({ page, children }: { page: "start" | "applications" | "stream" | "webhooks"; children: ComponentChildren }) {
  return (
    <>
      <Head title={t(`developers.${page}.title`)} about={t(`developers.${page}.about`)} />
      <LoginFirst why={t(`developers.${page}.why_login`)}>{children}</LoginFirst>
    </>
  );
}

function DemoLogin() {
  const [email, setEmail] = useState(config.demo[0]?.email ?? "");
  const user = config.demo.find((one) => one.email === email);
  const enter = async (): Promise<void> => {
    if (user && (await logInAs(user))) logIn();
    else toast(t("door.demo.refused"), "failed");
  };
  return (
    <>
      <Select label={t("developers.demo_user")} value={email} options={config.demo.map((one) => [one.email, `${one.name}: ${aboutUser(one)}`] as const)} onChange={setEmail} />
      <Button look="primary" onClick={enter}>
        {t("developers.log_in_as", { name: user?.name ?? "" })}
      </Button>
    </>
  );
}
