/** A button that gets a file from an API, with the person's token, and stores it. */

import { request } from "../app/api";
import { Button } from "../parts/button";

interface DownloadProps {
  readonly label: string;
  readonly path: string;
  readonly method?: "GET" | "POST";
  /** The name of the stored file. */
  readonly name: string;
  readonly look?: "plain" | "primary";
}

const LONGEST = 600_000;
/** Browsers start the download soon after the click. Then the file is not needed in the page any more. */
const KEPT_FOR = 60_000;

export function Download({ label, path, method = "GET", name, look = "plain" }: DownloadProps) {
  const get = async (): Promise<void> => {
    const file = await (await request(method, path, { timeout: LONGEST, ...(method === "POST" ? { body: {} } : {}) })).blob();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), KEPT_FOR);
  };
  return (
    <Button look={look} onClick={get}>
      {label}
    </Button>
  );
}
