/**
 * `npm run build`: makes dist/ from scratch, step by step. The schema and the man page are made by the bundle of the
 * previous step.
 */
import { execSync } from "node:child_process";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";

const root = dirname(import.meta.dirname);

const STEPS = [
  "node node_modules/typescript/bin/tsc -p tsconfig.build.json",
  "node scripts/prune-types.js",
  "node scripts/bundle.js",
  "node scripts/console.js",
  "node bin/sluice.js schema > dist/sluice.schema.json",
  "node scripts/man-page.js",
  "node scripts/sbom.js",
  "node scripts/build-unless-built.js --done",
];

rmSync(join(root, "dist"), { recursive: true, force: true });
for (const step of STEPS) execSync(step, { cwd: root, stdio: "inherit" });
