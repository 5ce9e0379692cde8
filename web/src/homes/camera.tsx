/** A camera: on or off, and its picture while it is on. */

import { useEffect, useState } from "preact/hooks";
import { blobOf, request, wordsFor } from "../app/api";
import { t } from "../app/i18n";
import type { Device } from "./device";
import { OnOff } from "./on_off";

const EVERY = 2_000;

interface CameraProps {
  readonly device: Device;
  readonly on: boolean;
  readonly fixed: boolean;
  readonly large: boolean;
}

export function Camera({ device, on, fixed, large }: CameraProps) {
  return (
    <>
      <OnOff label={device.module.value.name} on={on} fixed={fixed} large={large} onChange={(wanted) => device.send({ do: "switch camera", on: wanted }, { on: wanted })} />
      {on && !fixed && !device.isPending.value && <Picture device={device} />}
      {!on && large && <p class="soft">{t("homes.picture_off")}</p>}
    </>
  );
}

/** A new picture every two seconds, while the page can be seen. */
function Picture({ device }: { device: Device }) {
  const [address, setAddress] = useState("");
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const closing = new AbortController();
    let shown = "";
    let timer: number | undefined;
    const show = async (): Promise<void> => {
      if (!document.hidden) {
        try {
          const next = URL.createObjectURL(blobOf(await request("GET", device.picturePath, { signal: closing.signal })));
          URL.revokeObjectURL(shown);
          shown = next;
          setAddress(next);
          setProblem("");
        } catch (error) {
          if (closing.signal.aborted) return;
          setProblem(wordsFor(error));
        }
      }
      timer = setTimeout(() => void show(), EVERY);
    };
    void show();
    return () => {
      closing.abort();
      clearTimeout(timer);
      URL.revokeObjectURL(shown);
    };
  }, [device]);
  return (
    <div class="card-wide picture">
      {problem ? <p class="soft">{problem}</p> : address && <img src={address} alt={t("homes.picture_of", { name: device.module.value.name })} />}
    </div>
  );
}
