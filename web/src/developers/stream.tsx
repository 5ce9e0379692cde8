/** Event stream viewer: connect, filter, pause, and resume after the last event. */

import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { formatClock, t } from "../app/i18n";
import { EVENT_KINDS, listen, type LiveEvent, type LiveStream } from "../app/live";
import { Button } from "../parts/button";
import { Select, Switch } from "../parts/field";
import { Show, useLoad } from "../parts/loaded";
import { Empty } from "../parts/notice";
import { Code } from "./code";
import { listHomes } from "./lists";
import { LoginPage } from "./login_first";

const MOST = 200;

interface Shown {
  readonly number: number;
  readonly at: Date;
  readonly id: string;
  readonly event: LiveEvent;
}

export function Stream() {
  return (
    <LoginPage page="stream">
      <Viewer />
    </LoginPage>
  );
}

/** The id from which the stream can continue. Events about the present state have no id. */
function idOf({ event, data }: LiveEvent): string {
  if (event === "present" || event === "reset") return "";
  return String(data.id ?? data.cursor ?? "");
}

function Viewer() {
  const homes = useLoad("homes", listHomes);
  const home = useSignal("");
  const kind = useSignal("");
  const present = useSignal(false);
  const shown = useSignal<readonly Shown[]>([]);
  const received = useSignal(0);
  const lastId = useSignal("");
  const stream = useSignal<LiveStream | null>(null);
  const open = useRef<LiveStream | null>(null);

  const close = (): void => {
    open.current?.close();
    open.current = stream.value = null;
  };
  useEffect(() => close, []);

  const connect = (from: string): void => {
    close();
    const query: Record<string, string> = {};
    if (home.value) query.plant = home.value;
    if (kind.value) query.kind = kind.value;
    if (from) query.lastEventId = from;
    else if (present.value) query.present = "true";
    open.current = stream.value = listen(query, (event) => {
      const id = idOf(event);
      if (id) lastId.value = id;
      received.value += 1;
      shown.value = [{ number: received.value, at: new Date(), id, event }, ...shown.value].slice(0, MOST);
    });
  };
  /** An open stream continues with the new filter: the page always shows the filter that is used. */
  const filter = (by: Signal<string>, value: string): void => {
    by.value = value;
    if (open.current) connect(lastId.value);
  };
  const live = stream.value?.liveness.value.live ?? false;
  const state = stream.value ? (live ? "live" : "connecting") : lastId.value ? "paused" : "closed";
  return (
    <>
      <Show of={homes}>
        {(list) => (
          <div class="panel stream-filter">
            <Select label={t("developers.stream.home")} value={home.value} options={[["", t("developers.stream.all_homes")], ...list.map(({ id, name }) => [id, name] as const)]} onChange={(value) => filter(home, value)} />
            <Select label={t("developers.stream.kind")} value={kind.value} options={[["", t("developers.stream.all_kinds")], ...EVENT_KINDS.map((one) => [one, one] as const)]} onChange={(value) => filter(kind, value)} />
            <Switch label={t("developers.stream.present")} on={present.value} onChange={(on) => (present.value = on)} />
            <div class="buttons">
              {stream.value ? (
                <Button look="primary" onClick={close}>
                  {t("developers.stream.pause")}
                </Button>
              ) : (
                <Button look="primary" onClick={() => connect("")}>
                  {t("developers.stream.connect")}
                </Button>
              )}
              {!stream.value && lastId.value && <Button onClick={() => connect(lastId.value)}>{t("developers.stream.resume", { id: lastId.value })}</Button>}
              {shown.value.length > 0 && (
                <Button
                  look="quiet"
                  onClick={() => {
                    shown.value = [];
                  }}
                >
                  {t("developers.stream.clear")}
                </Button>
              )}
            </div>
          </div>
        )}
      </Show>
      <p role="status">
        <span class={`tag ${state === "live" ? "" : "warn"}`}>{t(`developers.stream.${state}`)}</span> <span class="soft">{t("developers.stream.counted", { shown: shown.value.length, received: received.value })}</span>
      </p>
      {shown.value.length ? (
        <ul class="stream" aria-label={t("developers.stream.title")}>
          {shown.value.map((one) => (
            <EventRow key={one.number} shown={one} />
          ))}
        </ul>
      ) : (
        <Empty title={t("developers.stream.none")}>
          <p class="soft">{t("developers.stream.none_about")}</p>
        </Empty>
      )}
    </>
  );
}

function EventRow({ shown: { at, id, event } }: { shown: Shown }) {
  const data = event.data.data as { readonly name?: string } | undefined;
  return (
    <li>
      <details>
        <summary>
          <time>{formatClock(at)}</time> <code>{event.event}</code> <span class="stream-name">{data?.name ?? ""}</span> {id && <span class="soft">{id}</span>}
        </summary>
        <Code label={t("developers.stream.data")} text={JSON.stringify(event.data, null, 2)} />
      </details>
    </li>
  );
}
