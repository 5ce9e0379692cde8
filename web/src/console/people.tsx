/** The people who have an account. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { t } from "../app/i18n";
import { loginOf } from "../app/login_name";
import { go } from "../app/router";
import { text, type FormField, type Values } from "../kit/form";
import { MANAGE, useList } from "../kit/load";
import { FormButton, Head, SecretDialog, type Secret } from "../kit/parts";
import { Table } from "../kit/table";
import { type Link, STANDINGS, type User } from "./model";
import { Tag, valueWords } from "./values";

export function People() {
  const list = useList<User>("/users");
  const [created, setCreated] = useState<{ user: User; secret: Secret } | null>(null);
  const create = async (values: Values): Promise<void> => {
    const body = { email: text(values, "email"), name: text(values, "name"), operator: values.operator === true, showLink: values.showLink === true };
    const { user, link } = await api.post<{ user: User; link: Link }>(`${MANAGE}/users`, body);
    const secret = linkSecret(link);
    if (secret) setCreated({ user, secret });
    else go(`/console/people/${user.id}`);
  };
  return (
    <>
      <Head title={t("console.people.title")} about={t("console.people.about")}>
        <FormButton
          label={t("console.people.add")}
          about={t("console.people.add_about")}
          icon="add"
          look="primary"
          fields={[
            { kind: "text", name: "email", label: t("console.email"), type: "email", required: true },
            { kind: "text", name: "name", label: t("console.name") },
            { kind: "switch", name: "operator", label: t("console.people.operator"), hint: t("console.people.operator_about"), value: false },
            showLinkField(),
          ]}
          onSubmit={create}
        />
      </Head>
      <Table
        label={t("console.people.title")}
        list={list}
        id={({ id }) => id}
        sorted
        href={({ id }) => `/console/people/${id}`}
        search
        filters={[{ name: "standing", label: t("console.people.standing"), options: STANDINGS.map((one) => [one, valueWords("standing", one)] as const), holds: (user, chosen) => user.standing === chosen }]}
        columns={[
          { title: t("console.name"), value: (user) => user.name || loginOf(user.email) },
          { title: t("console.email"), value: (user) => loginOf(user.email) },
          { title: t("console.state"), value: stateOf, cell: (user) => <UserTags user={user} /> },
        ]}
        empty={t("console.people.none")}
      />
      {created && <SecretDialog secret={created.secret} onClose={() => go(`/console/people/${created.user.id}`)} />}
    </>
  );
}

function stateOf(user: User): string {
  return [user.active ? "" : t("console.people.inactive"), valueWords("standing", user.standing), user.operator ? t("console.people.operator") : ""].join(" ");
}

export function UserTags({ user }: { user: User }) {
  return (
    <span class="tags">
      {!user.active && <Tag group="people" value="inactive" kind="warn" />}
      <Tag group="standing" value={user.standing} kind={user.standing === "good" ? "" : "warn"} />
      {user.operator && <Tag group="people" value="operator" />}
      {user.secondFactor && <Tag group="people" value="second_factor" />}
    </span>
  );
}

/** Whether the operator wants to see a link that the gateway would mail. Without a mail server, the operator always sees it. */
export function showLinkField(): FormField {
  return { kind: "switch", name: "showLink", label: t("console.people.show_link"), hint: t("console.people.show_link_about"), value: false };
}

/** The link that sets a password, if the gateway did not mail it. */
export function linkSecret(link: Link): Secret | null {
  return link.url ? { title: t("console.people.link"), about: t("console.people.link_about"), value: link.url } : null;
}
