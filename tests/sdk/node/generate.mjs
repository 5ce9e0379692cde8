// Writes the types of each OpenAPI document: node generate.mjs FILE… (homeauto.json becomes homeauto.ts)
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

for (const file of process.argv.slice(2)) {
  const document = JSON.parse(await readFile(file, "utf8"));
  await writeFile(file.replace(".json", ".ts"), astToString(await openapiTS(document)));
}
