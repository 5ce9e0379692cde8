/** Invite the people of the home. The link of an invitation is shown, if no mail server sends it. */

import { useState } from "preact/hooks";
import { api } from "../../app/api";
import { t } from "../../app/i18n";
import { MANAGE } from "../../kit/load";
import { Copyable, Facts } from "../../kit/parts";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import type { Link } from "../model";
import { StepForm } from "./step_form";

export function PeopleStep({ home, onDone }: { home: string; onDone: () => void }) {
  const [email, setEmail] = useState("");
  const [invited, setInvited] = useState<readonly (readonly [string, Link | null])[]>([]);
  const invite = async (): Promise<void> => {
    const who = email.trim();
    const { link } = await api.post<{ link: Link | null }>(`${MANAGE}/plants/${home}/invitations`, { email: who });
    setInvited((before) => [...before, [who, link]]);
    setEmail("");
  };
  return (
    <>
      <StepForm submit={t("console.plants.invite")} onSubmit={invite}>
        <Field label={t("console.email")} type="email" value={email} onInput={setEmail} required />
      </StepForm>
      {invited.length > 0 && (
        <>
          <p>{t("console.start.people.links")}</p>
          <Facts facts={invited.map(([who, link]) => [who, link?.url ? <Copyable value={link.url} /> : t(link ? "console.start.people.mailed" : "console.start.people.member")] as const)} />
          <Button look="primary" onClick={onDone}>
            {t("console.start.next")}
          </Button>
        </>
      )}
    </>
  );
}
