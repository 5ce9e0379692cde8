/** The devices of the home, each with a switch to try it. */

import { api } from "../../app/api";
import { t } from "../../app/i18n";
import { MANAGE, type Listing } from "../../kit/load";
import { useRepeat } from "../../kit/parts";
import { Button } from "../../parts/button";
import { Switch } from "../../parts/field";
import { Show, useLoad } from "../../parts/loaded";
import { toast } from "../../parts/toast";
import type { Kind, Module, Order } from "../model";
import { evidenceWords, valueWords } from "../values";

const COMMANDS: Partial<Record<Kind, string>> = { light: "set light", plug: "switch plug", heater: "switch heater" };
const MOST = 20;
const LONGEST = 60_000;

interface TryItProps {
  readonly home: string;
  readonly onMore: () => void;
  readonly onDone: () => void;
}

export function TryIt({ home, onMore, onDone }: TryItProps) {
  const modules = useLoad(`modules of ${home}`, async () => (await api.get<Listing<Module>>(`${MANAGE}/plants/${home}/modules`, { query: { limit: MOST } })).items);
  useRepeat(modules.reload, 2);
  const turn = async ({ id, name, kind }: Module, on: boolean): Promise<void> => {
    const order = await api.post<Order>(`${MANAGE}/plants/${home}/modules/${id}/commands`, { do: COMMANDS[kind], on }, { timeout: LONGEST });
    if (order.state !== "confirmed") toast(`${name}: ${valueWords("orderstate", order.state)} ${order.problem}`, "failed");
    await modules.reload();
  };
  return (
    <>
      <h3>{t("console.start.try.title")}</h3>
      <Show of={modules}>
        {(shown) => (
          <ul class="found">
            {shown.map((module) => (
              <li key={module.id}>
                <Tried module={module} onTurn={(on) => turn(module, on)} />
              </li>
            ))}
          </ul>
        )}
      </Show>
      <div class="buttons">
        <Button look="primary" onClick={onDone}>
          {t("console.start.next")}
        </Button>
        <a class="button" href={`/homes/${home}`}>
          {t("console.start.done.home")}
        </a>
        <Button look="quiet" onClick={onMore}>
          {t("console.start.try.more")}
        </Button>
      </div>
    </>
  );
}

function Tried({ module, onTurn }: { module: Module; onTurn: (on: boolean) => Promise<void> }) {
  const { name, kind, ambient, state, reachable, absence } = module;
  const problem = reachable ? "" : (absence && evidenceWords(absence)) || valueWords("absence", absence?.why ?? "never seen");
  const about = [valueWords("kind", kind), ambient, problem].filter(Boolean).join(", ");
  const label = (
    <>
      <strong>{name}</strong> <span class="soft">{about}</span>
    </>
  );
  if (!COMMANDS[kind]) return <span>{label}</span>;
  return <Switch label={label} on={state !== null && "on" in state && state.on === true} disabled={!reachable} onChange={(on) => void onTurn(on)} />;
}
