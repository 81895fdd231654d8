/**
 * In place of classic-level's own binding.js, which looks for its native part among the files of the package. Here that
 * part is an asset of the executable, and the system only loads code from files. So it is written to a folder that was
 * made for it, which nobody else may enter, and is gone again as soon as it is loaded: nobody can put another in its
 * place, and nothing is left behind. (Windows deletes no file that is in use; there the folder stays.)
 */
const { mkdtempSync, rmSync, writeFileSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const process = require("node:process");
const { getRawAsset } = require("node:sea");

const ASSET = "classic-level.node";

let folder;
try {
  // Only its owner may look into it.
  folder = mkdtempSync(join(tmpdir(), "sluice-"));
  const file = join(folder, ASSET);
  writeFileSync(file, new Uint8Array(getRawAsset(ASSET)), { mode: 0o500, flag: "wx" });
  process.dlopen(module, file);
} catch (cause) {
  const advice = "set TMPDIR to a folder that can be written to and is not mounted noexec";
  throw new Error(`LevelDB cannot be loaded from ${tmpdir()}; ${advice}`, { cause });
} finally {
  if (folder !== undefined && process.platform !== "win32") rmSync(folder, { recursive: true, force: true });
}
