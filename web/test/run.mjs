// Bundles the unit tests and runs them in Node: `node test/run.mjs FOLDER`.

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const outdir = process.argv[2];
const tests = readdirSync(here).filter((name) => name.endsWith(".test.mjs"));
await esbuild.build({
  entryPoints: tests.map((name) => join(here, name)),
  bundle: true,
  platform: "node",
  format: "esm",
  outExtension: { ".js": ".mjs" },
  outdir,
});
const done = spawnSync(process.execPath, ["--test", ...tests.map((name) => join(outdir, name))], { stdio: "inherit" });
process.exit(done.status ?? 1);
