// For every case of damages on its stdin: opens a copy of a queue with those damages, reads all of it, puts
// something into it, lets LevelDB go through all of it, opens it again, and says what there was each time. In a process of
// its own, since LevelDB ends the process if it gets to see what it does not expect.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { LevelStore } from "../../../../dist/runtime/queue/store/level-store.js";

const [root, cases] = process.argv.slice(2);

for (const damages of JSON.parse(cases)) {
  const copy = mkdtempSync(join(tmpdir(), "sluice-damage-"));
  try {
    cpSync(root, copy, { recursive: true });
    for (const { file, ...how } of damages) damage(join(copy, file), how);
    const directory = join(copy, "queue");
    const first = await lookInto(directory);
    const db = new ClassicLevel(directory, { compression: false });
    await db.compactRange("", "\xff");
    await db.close();
    const second = await lookInto(directory);
    process.stdout.write(`${JSON.stringify({ damages, first, second })}\n`);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function damage(path, { remove, cut, zero, flip }) {
  if (remove) return rmSync(path, { force: true });
  const bytes = readFileSync(path);
  if (cut !== undefined) writeFileSync(path, bytes.subarray(0, cut));
  if (zero !== undefined)
    writeFileSync(path, bytes.fill(0, Math.min(zero[0], bytes.length), Math.min(zero[1], bytes.length)));
  if (flip !== undefined && flip.at < bytes.length) {
    bytes[flip.at] ^= 1 << flip.bit;
    writeFileSync(path, bytes);
  }
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
