// Builds the pages. `node build.mjs FOLDER` writes the files and `build.json`, which the gateway reads at its start.

import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import * as esbuild from "esbuild";
import { parse } from "smol-toml";

const here = dirname(fileURLToPath(import.meta.url));
const target = resolve(process.argv[2] ?? join(here, "../src/domogate/console/static"));

/** `{ a: { b: "x" } }` becomes `{ "a.b": "x" }`. */
function flatten(table, prefix = "") {
  return Object.entries(table).flatMap(([name, value]) =>
    typeof value === "object" ? flatten(value, `${prefix}${name}.`) : [[prefix + name, value]],
  );
}

/** Texts are TOML files, as for the login pages. Each import becomes an object by dotted key. */
const texts = {
  name: "texts",
  setup(build) {
    build.onLoad({ filter: /\.toml$/ }, async ({ path }) => ({
      contents: JSON.stringify(Object.fromEntries(flatten(parse(await readFile(path, "utf8"))))),
      loader: "json",
    }));
  },
};

const built = await esbuild.build({
  absWorkingDir: here,
  entryPoints: ["src/main.tsx", "src/styles/main.css"],
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  outdir: "/assets",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  loader: { ".svg": "file", ".png": "file", ".woff2": "file" },
  plugins: [texts],
  metafile: true,
  write: false,
  logLevel: "warning",
});

const outputs = Object.entries(built.metafile.outputs).map(([path, output]) => ({ ...output, name: basename(path) }));
const byEntry = (entry) => outputs.find((output) => output.entryPoint === entry);
const main = byEntry("src/main.tsx");

/** The script and all files that it imports at once. The shell tells the browser to load them in parallel. */
function firstLoad(output, found = new Set()) {
  found.add(output.name);
  for (const { path, kind } of output.imports) {
    const next = outputs.find((one) => one.name === basename(path));
    if (kind === "import-statement" && next && !found.has(next.name)) firstLoad(next, found);
  }
  return [...found];
}

/** For each area, the files that its pages need besides those of the first load. */
const areas = Object.fromEntries(
  outputs.flatMap((output) => {
    const area = /^src\/(\w+)\/page\.tsx$/.exec(output.entryPoint ?? "");
    return area ? [[area[1], firstLoad(output).filter((name) => !firstLoad(main).includes(name))]] : [];
  }),
);

/** The licences of the packages whose code is in the built files. Their text must be distributed together with the code. */
async function licences() {
  const inputs = Object.keys(built.metafile.inputs).map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  const texts = [...new Set(inputs)].filter(Boolean).sort().map(async (name) => {
    const folder = join(here, "node_modules", name);
    const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((one) => /^licen[cs]e/i.test(one));
    if (!file) throw new Error(`${name} has no licence file.`);
    return `${name} ${version}\n\n${await readFile(join(folder, file), "utf8")}`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}

// The folder is replaced as a whole, so that it never has files of two builds.
const fresh = `${target}.new`;
await rm(fresh, { recursive: true, force: true });
await mkdir(fresh, { recursive: true });
for (const { path, contents } of built.outputFiles) {
  const name = basename(path);
  await writeFile(join(fresh, name), contents);
  await writeFile(join(fresh, `${name}.gz`), gzipSync(contents, { level: 9 }));
  await writeFile(
    join(fresh, `${name}.br`),
    brotliCompressSync(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
  );
}
const names = built.outputFiles.map(({ path }) => basename(path)).sort();
const manifest = {
  version: createHash("sha256").update(names.join()).digest("hex").slice(0, 16),
  script: main.name,
  style: byEntry("src/styles/main.css").name,
  first: firstLoad(main),
  areas,
  files: names,
};
await writeFile(join(fresh, "build.json"), `${JSON.stringify(manifest, null, 1)}\n`);
await writeFile(join(fresh, "licences.txt"), await licences());
await rm(target, { recursive: true, force: true });
await rename(fresh, target);
