/** A backup of the database, made and downloaded now. */

import { api } from "../app/api";
import { t } from "../app/i18n";
import { Download } from "../kit/download";
import { MANAGE } from "../kit/load";
import { Facts, Head } from "../kit/parts";
import { Show, useLoad } from "../parts/loaded";
import { Notice } from "../parts/notice";
import type { OverviewData } from "./overview_model";

export function Backup() {
  const name = `domogate-${new Date().toISOString().slice(0, 10)}.sqlite3`;
  const key = useLoad("secret key", () => api.get<{ id: string | null }>(`${MANAGE}/secret-key`)).data;
  const overview = useLoad("overview", () => api.get<OverviewData>(`${MANAGE}/overview`));
  return (
    <>
      <Head title={t("console.backup.title")} />
      <Notice kind="warn" title={t("console.backup.secret")}>
        <p>{t("console.backup.secret_about")}</p>
      </Notice>
      <Facts facts={[[t("console.backup.key"), key && <code>{key.id ?? t("console.backup.no_key")}</code>]]} />
      <Show of={overview}>
        {({ database }) =>
          database.kind === "sqlite" ? (
            <>
              <p>{t("console.backup.about")}</p>
              <div class="buttons">
                <Download label={t("console.backup.make")} path={`${MANAGE}/backups`} method="POST" name={name} look="primary" />
              </div>
            </>
          ) : (
            <>
              <p>{t("console.backup.postgresql")}</p>
              <p>
                <code>pg_dump -Fc -f domogate.dump "$DATABASE_URL"</code>
              </p>
              <p>{t("console.backup.postgresql_restore")}</p>
            </>
          )
        }
      </Show>
    </>
  );
}
