/** Asks for a login on a page that everybody may read. In the demo, one click logs a demo user in. */

import type { ComponentChildren } from "preact";
import { config } from "../app/config";
import { t } from "../app/i18n";
import { path } from "../app/router";
import { logIn, person } from "../app/session";
import { logInAs } from "../door/demo";
import { Button } from "../parts/button";
import { toast } from "../parts/toast";

/** Shows its children to a person who is logged in, and to others how to log in. `why` says what needs the login. */
export function LoginFirst({ why, children }: { why: string; children: ComponentChildren }) {
  if (person.value) return <>{children}</>;
  return (
    <section class="panel login-first" aria-label={t("common.log_in")}>
      <p>{why}</p>
      <div class="buttons">
        <Button look="primary" onClick={() => logIn(path.value)}>
          {t("common.log_in")}
        </Button>
        {config.demo.map((user) => (
          <Button
            key={user.email}
            onClick={async () => {
              if (await logInAs(user)) logIn(path.value);
              else toast(t("door.demo.refused"), "failed");
            }}
          >
            {t("developers.log_in_as", { name: user.name })}
          </Button>
        ))}
      </div>
    </section>
  );
}
