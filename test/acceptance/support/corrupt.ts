import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { expect } from "vitest";
import { directoryNameOf } from "../../../src/runtime/queue/operate/directory-name.js";

/** Where an exporter's queue is. */
export const queueOf = (directory: string, exporter: string): string => join(directory, directoryNameOf(exporter));

/**
 * Flips a bit in the stored payload that contains this text, as a failing disk might. LevelDB's own checksums stay right, so
 * only the store's own can notice. No agent may run.
 */
export async function corruptEntry(directory: string, exporter: string, text: string): Promise<void> {
  const db = new ClassicLevel<Buffer, Buffer>(queueOf(directory, exporter), {
    keyEncoding: "buffer",
    valueEncoding: "buffer",
    createIfMissing: false,
  });
  let changed = 0;
  for await (const [key, value] of db.iterator()) {
    const at = value.indexOf(text);
    if (at < 0) continue;
    value[at]! ^= 0x10;
    await db.put(key, value, { sync: true });
    changed++;
  }
  await db.close();
  expect(changed).toBe(1);
}
