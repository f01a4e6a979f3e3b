// Builds ../static from src. The build records a digest of all sources, so that a test can tell when it is stale.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const TARGET = "../static";
const BUNDLED = ["preact", "@preact/signals", "@preact/signals-core"];

rmSync(TARGET, { recursive: true, force: true });
mkdirSync(TARGET);
await build({
  entryPoints: [
    { in: "src/main.tsx", out: "page" },
    { in: "src/style.css", out: "page" },
  ],
  outdir: TARGET,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
});
for (const name of ["index.html", "refused.html", "icon.svg"]) copyFileSync(`src/${name}`, `${TARGET}/${name}`);
const licences = BUNDLED.map((name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8")}`);
writeFileSync(`${TARGET}/licences.txt`, licences.join("\n"));
writeFileSync(`${TARGET}/sources.sha256`, `${digest()}\n`);

/** SHA-256 of all names and contents, in the order of the names. */
function digest() {
  const top = readdirSync(".", { withFileTypes: true }).filter((entry) => entry.isFile());
  const names = [...top.map(({ name }) => name), ...readdirSync("src").map((name) => `src/${name}`)].sort();
  const hash = createHash("sha256");
  for (const name of names) hash.update(`${name}\0`).update(readFileSync(name)).update("\0");
  return hash.digest("hex");
}
