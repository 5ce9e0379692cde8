/** The open invitation links of a plant. Its owner made them; an operator can withdraw them. */

import { api } from "../app/api";
import { t } from "../app/i18n";
import { loginOf } from "../app/login_name";
import { MANAGE, useList } from "../kit/load";
import { ConfirmButton, Section, when } from "../kit/parts";
import { Table } from "../kit/table";
import type { OwnersLink, Plant } from "./model";

export function InvitationLinks({ plant: { id } }: { plant: Plant }) {
  const path = `/plants/${id}/invitation-links`;
  const links = useList<OwnersLink>(path, { limit: undefined });
  if (!links.data?.length && !links.problem) return null; // Most plants have no open link.
  const nameOf = ({ note }: OwnersLink): string => note || t("console.plants.link_unnamed");
  const withdraw = (link: OwnersLink) => (
    <ConfirmButton
      label={t("console.plants.withdraw")}
      question={t("console.plants.link_withdraw_about", { note: nameOf(link) })}
      onConfirm={() => api.delete(`${MANAGE}${path}/${link.id}`).then(links.reload)}
    />
  );
  return (
    <Section title={t("console.plants.links")} about={t("console.plants.links_about")}>
      <Table
        label={t("console.plants.links")}
        list={links}
        id={(link) => link.id}
        columns={[
          { title: t("console.plants.link_for"), value: nameOf },
          { title: t("console.plants.link_by"), value: ({ email }) => loginOf(email), cell: ({ email, userId }) => <a href={`/console/people/${userId}`}>{loginOf(email)}</a> },
          { title: t("console.created"), value: ({ createdAt }) => createdAt, cell: ({ createdAt }) => when(createdAt) },
          { title: t("console.plants.until"), value: ({ expiresAt }) => expiresAt, cell: ({ expiresAt }) => when(expiresAt) },
        ]}
        actions={withdraw}
        empty=""
      />
    </Section>
  );
}
