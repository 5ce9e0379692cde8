/** `/`: whose gateway this is, and the ways in. */

import { AREAS, mayUse } from "../app/areas";
import { config, type DemoUser } from "../app/config";
import { t } from "../app/i18n";
import { logIn, loginError, person, wanted } from "../app/session";
import { LanguageSwitch } from "../app/shell";
import { Button } from "../parts/button";
import { Icon, type IconName } from "../parts/icons";
import { Notice } from "../parts/notice";
import { toast } from "../parts/toast";
import { aboutUser, logInAs } from "./demo";
import { FirstLink } from "./first_link";

export function Door() {
  return (
    <div class="door">
      <header class="door-head">
        <h1>{config.name}</h1>
        <p class="lead">{person.value ? t("door.hello", { name: person.value.name }) : t("door.about")}</p>
      </header>
      {config.isNew && <FirstLink />}
      <LoginNeeded />
      <nav class="ways" aria-label={t("door.ways")}>
        {AREAS.filter((area) => mayUse(area, person.value)).map((area) => (
          <Way key={area.name} href={`/${area.name}`} icon={area.icon} name={area.name} />
        ))}
        <Way href="/auth/account" icon="person" name="account" />
      </nav>
      {config.demo.length > 0 && <Demo />}
      <footer class="soft">
        <LanguageSwitch />
        <a href="/docs/">{t("door.documentation")}</a>
        <span>Domogate {config.version}</span>
      </footer>
    </div>
  );
}

function LoginNeeded() {
  const target = wanted.value;
  if (loginError.value) return <Notice kind="alarm" title={t("door.failed", { reason: loginError.value })} />;
  if (!target || person.value) return null;
  return (
    <section class="panel login-needed" aria-labelledby="login-needed">
      <h2 id="login-needed">{t("door.log_in_first")}</h2>
      <p class="soft">{t("door.log_in_about")}</p>
      <button type="button" class="primary" onClick={() => logIn(target)}>
        {t("common.log_in")}
      </button>
    </section>
  );
}

function Way({ href, icon, name }: { href: string; icon: IconName; name: string }) {
  return (
    <a class="way" href={href}>
      <Icon name={icon} />
      <span>
        <strong>{t(`area.${name}.title`)}</strong>
        <span class="soft">{t(`area.${name}.about`)}</span>
      </span>
      <Icon name="right" />
    </a>
  );
}

function Demo() {
  return (
    <section class="panel demo" aria-labelledby="demo">
      <h2 id="demo">{t("door.demo.title")}</h2>
      <p class="soft">{t("door.demo.about")}</p>
      <ul>
        {config.demo.map((user) => (
          <li key={user.email}>
            <Button look="quiet" onClick={() => enter(user)}>
              <strong>{user.name}</strong>
              <span class="soft">{aboutUser(user)}</span>
              <Icon name="right" />
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

async function enter(user: DemoUser): Promise<void> {
  const area = AREAS.find((one) => one.name === (user.operator ? "console" : "homes"));
  if (await logInAs(user)) logIn(area ? `/${area.name}` : "/");
  else toast(t("door.demo.refused"), "failed");
}
