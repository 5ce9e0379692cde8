/** One plant: its modules, its people, and the faults that are injected. */

import { api } from "../app/api";
import { t } from "../app/i18n";
import { Button } from "../parts/button";
import { Faults } from "./faults";
import { MANAGE } from "../kit/load";
import { ConfirmButton, FormButton, Head } from "../kit/parts";
import { Show, useLoad } from "../parts/loaded";
import { InvitationLinks } from "./invitation_links";
import { Members, PEOPLE } from "./members";
import type { Plant } from "./model";
import { ModulesOfPlant } from "./modules";
import { addressOf, plantBody, plantFields } from "./plants";
import { Tag } from "./values";

export function PlantPage({ id }: { id: string }) {
  const loaded = useLoad(id, () => api.get<Plant>(`${MANAGE}/plants/${id}`));
  const change = (status: Plant["status"]): Promise<void> => api.patch(`${MANAGE}/plants/${id}`, { status }).then(loaded.reload);
  return (
    <Show of={loaded}>
      {(plant) => (
        <>
          <Head
            title={plant.name}
            above={[["/console/plants", t("console.plants.title")]]}
            about={
              <span class="tags">
                <Tag group="planttype" value={plant.type} />
                {plant.status === "removed" && <Tag group="plantstate" value="removed" kind="warn" />}
                {addressOf(plant)}
              </span>
            }
          >
            <a class="button" href={`/console/plants/${id}/rooms`}>
              {t("console.rooms.title")}
            </a>
            <a class="button" href={`#${PEOPLE}`}>
              {t("console.people.title")}
            </a>
            <FormButton label={t("console.change")} title={t("console.plants.change")} submit={t("console.save")} fields={plantFields(plant)} onSubmit={(values) => api.patch(`${MANAGE}/plants/${id}`, plantBody(values)).then(loaded.reload)} />
            {plant.status === "active" ? (
              <ConfirmButton label={t("console.plants.remove")} question={t("console.plants.remove_about", { name: plant.name })} onConfirm={() => change("removed")} />
            ) : (
              <Button look="primary" onClick={() => change("active")}>
                {t("console.plants.restore")}
              </Button>
            )}
          </Head>
          <ModulesOfPlant plant={id} />
          <Members plant={plant} onChanged={loaded.reload} />
          <InvitationLinks plant={plant} />
          <Faults plant={id} />
        </>
      )}
    </Show>
  );
}
