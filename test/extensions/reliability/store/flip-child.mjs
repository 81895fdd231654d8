// For every flipped bit it is told of: opens a copy of a queue with that bit flipped, reads all of it, lets LevelDB go
// through all of it, opens it again, and says what there was. LevelDB ends the process if it gets to see a wrong key.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { LevelStore } from "../../../../dist/extensions/reliability/store/level-store.js";

const [root, flips] = process.argv.slice(2);

for (const flip of JSON.parse(flips)) {
  const copy = mkdtempSync(join(tmpdir(), "sluice-flip-"));
  cpSync(root, copy, { recursive: true });
  const path = join(copy, flip.file);
  const bytes = readFileSync(path);
  bytes[flip.at] ^= 1 << flip.bit;
  writeFileSync(path, bytes);
  const directory = join(copy, "queue");
  const first = await lookInto(directory);
  const db = new ClassicLevel(directory, { compression: false });
  await db.compactRange("", "\xff");
  await db.close();
  const second = await lookInto(directory);
  process.stdout.write(`${JSON.stringify({ flip, first, second })}\n`);
  rmSync(copy, { recursive: true, force: true });
}

async function lookInto(directory) {
  const store = new LevelStore({ exporter: "otlp_http/test", directory, durability: "process", intervalMs: 5 });
  const report = await store.open();
  const pending = await read(store, (after) => store.pending(after, 100));
  const failed = await read(store, (after) => store.failed(after, 100, "oldest"));
  const { corrupt } = store.stats;
  await store.close();
  return { report, pending, failed, corrupt };
}

async function read(store, list) {
  const ids = [];
  for (let page = await list(); page.length > 0; page = await list(page.at(-1).ref)) {
    for (const { ref, entry } of page) {
      const batch = await store.payload(ref).catch((error) => {
        if (error.code !== "corrupt") throw error;
      });
      if (batch?.byteLength === entry.bytes) ids.push(entry.id);
    }
  }
  return ids;
}
