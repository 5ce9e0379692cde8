/** A backup of the database, made and downloaded now. */

import { api } from "../app/api";
import { t } from "../app/i18n";
import { Download } from "../kit/download";
import { MANAGE } from "../kit/load";
import { Facts, Head } from "../kit/parts";
import { useLoad } from "../parts/loaded";
import { Notice } from "../parts/notice";

export function Backup() {
  const name = `domogate-${new Date().toISOString().slice(0, 10)}.sqlite3`;
  const key = useLoad("secret key", () => api.get<{ id: string | null }>(`${MANAGE}/secret-key`)).data;
  return (
    <>
      <Head title={t("console.backup.title")} about={t("console.backup.about")} />
      <Notice kind="warn" title={t("console.backup.secret")}>
        <p>{t("console.backup.secret_about")}</p>
      </Notice>
      <Facts facts={[[t("console.backup.key"), key && <code>{key.id ?? t("console.backup.no_key")}</code>]]} />
      <div class="buttons">
        <Download label={t("console.backup.make")} path={`${MANAGE}/backups`} method="POST" name={name} look="primary" />
      </div>
    </>
  );
}
