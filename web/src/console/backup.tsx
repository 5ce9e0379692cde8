/** A backup of the database, made and downloaded now. */

import { t } from "../app/i18n";
import { Download } from "../kit/download";
import { MANAGE } from "../kit/load";
import { Head } from "../kit/parts";
import { Notice } from "../parts/notice";

export function Backup() {
  const name = `domogate-${new Date().toISOString().slice(0, 10)}.sqlite3`;
  return (
    <>
      <Head title={t("console.backup.title")} about={t("console.backup.about")} />
      <Notice kind="warn" title={t("console.backup.secret")}>
        <p>{t("console.backup.secret_about")}</p>
      </Notice>
      <div class="buttons">
        <Download label={t("console.backup.make")} path={`${MANAGE}/backups`} method="POST" name={name} look="primary" />
      </div>
    </>
  );
}
