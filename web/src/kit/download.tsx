/** A button that gets a file from an API, with the person's token, and stores it. */

import { blobOf, request } from "../app/api";
import { saveFile } from "../app/save_file";
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

export function Download({ label, path, method = "GET", name, look = "plain" }: DownloadProps) {
  const get = async (): Promise<void> => {
    saveFile(name, blobOf(await request(method, path, { timeout: LONGEST, ...(method === "POST" ? { body: {} } : {}) })));
  };
  return (
    <Button look={look} onClick={get}>
      {label}
    </Button>
  );
}
