/**
 * Makes dist/binary/sluice: one file that runs on similar machines without Node.js. It consists of the current Node.js,
 * Sluice and its packages bundled into one program, and LevelDB's native part. Modules that read files of the package
 * cannot work in a single file; packaging/binary has replacements.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { rolldown } from "rolldown";

const root = dirname(import.meta.dirname);
const out = join(root, "dist", "binary");
const require = createRequire(import.meta.url);
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const level = dirname(require.resolve("classic-level/package.json"));

/** Node.js recognises by this marker that a program was injected into it. */
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

/** Replacements for modules that read files. */
const REPLACED = new Map(
  Object.entries({
    "src/runtime/system/package-info.ts": "version.ts",
    "src/runtime/text/patterns/re2.ts": "re2.ts",
    "src/runtime/host/plugins/import-url.ts": "import-url.ts",
    "src/runtime/queue/store/level/classic-level.ts": "classic-level.ts",
    "src/extensions/admin-api/console/built-file.ts": "built-file.ts",
    "src/runtime/ottl/trials/trial-thread-file.ts": "trial-thread-file.ts",
  }).map(([from, to]) => [join(root, from), join(root, "packaging", "binary", to)]),
);
REPLACED.set(join(level, "binding.js"), join(root, "packaging", "binary", "level-binding.cjs"));

const unused = new Set(REPLACED.keys());
await bundle("packaging/binary/main.ts", "sluice.cjs");
await bundle("src/runtime/ottl/trials/trial-thread.ts", "trial-thread.cjs");
if (unused.size > 0) throw new Error(`nothing imports ${[...unused].join(", ")} any more; see scripts/binary.js`);
await build();

/** @param {string} input @param {string} file */
async function bundle(input, file) {
  const replace = {
    name: "replace",
    async resolveId(source, importer, options) {
      const found = await this.resolve(source, importer, { ...options, skipSelf: true });
      const other = found && REPLACED.get(found.id);
      if (!other) return found;
      unused.delete(found.id);
      return other;
    },
  };
  const bundled = await rolldown({
    cwd: root,
    input,
    platform: "node",
    resolve: {
      extensionAlias: { ".js": [".ts", ".js"] },
      conditionNames: ["sluice-source", "node", "import", "default"],
    },
    transform: { define: { SLUICE_VERSION: JSON.stringify(version) } },
    plugins: [replace],
  });
  await bundled.write({ file: join(out, file), format: "cjs", codeSplitting: false });
  await bundled.close();
}

/** The console as built by `npm run build`. */
function consoleFiles() {
  const folder = join(root, "dist", "console");
  return Object.fromEntries(readdirSync(folder).map((name) => [`console/${name}`, join(folder, name)]));
}

async function build() {
  const blob = join(out, "sluice.blob");
  const config = join(out, "sea.json");
  const native = createRequire(join(level, "package.json"))("node-gyp-build").path(level);
  const settings = {
    main: join(out, "sluice.cjs"),
    output: blob,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    assets: { "classic-level.node": native, "trial-thread.cjs": join(out, "trial-thread.cjs"), ...consoleFiles() },
  };
  writeFileSync(config, JSON.stringify(settings));
  execFileSync(process.execPath, ["--experimental-sea-config", config], { stdio: ["ignore", "ignore", "inherit"] });
  const file = join(out, process.platform === "win32" ? "sluice.exe" : "sluice");
  rmSync(file, { force: true });
  copyFileSync(process.execPath, file);
  chmodSync(file, 0o755);
  const { inject } = require("postject");
  const onMac = process.platform === "darwin" ? { machoSegmentName: "NODE_SEA" } : {};
  await inject(file, "NODE_SEA_BLOB", readFileSync(blob), { sentinelFuse: FUSE, ...onMac });
  for (const done of [blob, config]) rmSync(done);
  process.stdout.write(`${file} (${Math.round(statSync(file).size / 1e6)} MB)\n`);
}
