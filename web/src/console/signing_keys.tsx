/** The keys that sign tokens, and their rotation. */

import { api } from "../app/api";
import { t } from "../app/i18n";
import { MANAGE, useList } from "../kit/load";
import { FormButton, Head, when } from "../kit/parts";
import { Table } from "../kit/table";
import type { SigningKey } from "./model";
import { Tag, valueWords } from "./values";

export function SigningKeys() {
  const list = useList<SigningKey>("/signing-keys", { limit: undefined });
  return (
    <>
      <Head title={t("console.signing_keys.title")} about={t("console.signing_keys.about")}>
        <FormButton
          label={t("console.signing_keys.rotate")}
          about={t("console.signing_keys.rotate_about")}
          fields={[{ kind: "switch", name: "emergency", label: t("console.signing_keys.emergency"), hint: t("console.signing_keys.emergency_about"), value: false }]}
          onSubmit={(values) => api.post(`${MANAGE}/signing-keys/rotation`, { emergency: values.emergency === true }).then(list.reload)}
        />
      </Head>
      <Table
        label={t("console.signing_keys.title")}
        list={list}
        id={({ kid }) => kid}
        columns={[
          { title: t("console.signing_keys.kid"), value: ({ kid }) => kid, cell: ({ kid }) => <code>{kid}</code> },
          { title: t("console.signing_keys.algorithm"), value: ({ algorithm }) => algorithm },
          { title: t("console.state"), value: ({ state }) => valueWords("signing", state), cell: ({ state }) => <Tag group="signing" value={state} kind={state === "current" ? "" : "warn"} /> },
          { title: t("console.signing_keys.from"), value: ({ signsFrom }) => signsFrom, cell: ({ signsFrom }) => when(signsFrom) },
          { title: t("console.signing_keys.retired"), value: ({ retiredAt }) => retiredAt, cell: ({ retiredAt }) => when(retiredAt) || "–" },
        ]}
        empty={t("console.signing_keys.none")}
      />
    </>
  );
}
