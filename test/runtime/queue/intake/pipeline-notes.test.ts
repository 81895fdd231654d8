import { describe, expect, it } from "vitest";
import { PipelineNotes } from "../../../../src/runtime/queue/intake/pipeline-notes.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { liveArrayBuffers } from "../../../support/live-heap.js";
import { newEntry } from "../store/entries.js";

const MIB = 1024 * 1024;

/** Notes of 64 KiB, numbered, beside a store with so many entries. */
async function notesBeside(entries: number) {
  const store = new MemoryStore({ exporter: "intake/traces" });
  await store.open();
  const refs: number[] = [];
  for (let i = 0; i < entries; i++) refs.push((await store.put(newEntry(String(i)))).ref);
  const notes = new PipelineNotes(store, () => refs.at(-1) ?? 0);
  await notes.load();
  const mine = notes.notesOf("sampler");
  const write = async (mib: number) => {
    for (let i = 0; i < mib * 16; i++) {
      mine.write(new Uint8Array(64 * 1024));
      if (i % 8 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const kept = async () => (await store.notes.load()).reduce((sum, { bytes }) => sum + bytes.length, 0) / MIB;
  return { store, refs, notes, mine, write, kept };
}

describe("the notes of a pipeline", () => {
  it("are those of each processor, in order, also after a restart", async () => {
    const { store, mine } = await notesBeside(1);
    mine.write(Buffer.from("a"));
    const again = new PipelineNotes(store, () => 1);
    await again.load();
    again.notesOf("other").write(Buffer.from("x"));
    again.notesOf("sampler").write(Buffer.from("b"));
    const read = again.notesOf("sampler").read();
    expect(read.map(({ bytes, after }) => [String(bytes), after])).toEqual([
      ["a", 1],
      ["b", 1],
    ]);
    expect(again.notesOf("sampler").firstPosition).toBe(1);
  });

  it("are kept for a while when no entry needs them", async () => {
    const { write, kept } = await notesBeside(0);
    await write(7);
    expect(await kept()).toBe(7);
    await write(7);
    expect(await kept()).toBeLessThan(9);
  });

  it("are kept as long as their processor needs them, if it declares that", async () => {
    const { write, kept, mine } = await notesBeside(0);
    mine.limitUnneededBytes(MIB);
    await write(7);
    expect(await kept()).toBeGreaterThan(0.9);
    expect(await kept()).toBeLessThan(2);
  });

  it("are kept up to what their processor needs, also beside processors that set no limit", async () => {
    const { write, kept, mine, notes } = await notesBeside(0);
    mine.limitUnneededBytes(MIB);
    notes.notesOf("another").write(Buffer.from("of another"));
    await write(7);
    expect(await kept()).toBeLessThan(2);
    expect(notes.notesOf("another").read()).toHaveLength(1);
  });

  it("are kept for as long as an entry is there that came before them, within limits", async () => {
    const { write, kept, store, refs } = await notesBeside(1);
    await write(20);
    expect(await kept()).toBe(20);
    await write(60);
    expect(await kept()).toBeLessThan(65);
    store.ack(refs[0]!);
    await write(1);
    expect(await kept()).toBeLessThan(9);
  });

  it("take no more memory than their bytes, even if they were cut from larger buffers", async () => {
    const { mine } = await notesBeside(1);
    const before = liveArrayBuffers();
    for (let i = 0; i < 2000; i++) {
      mine.write(Buffer.allocUnsafe(21)); // of Node's pool, which has 8 KiB
      Buffer.allocUnsafe(4000); // as requests that pass by do
    }
    expect(liveArrayBuffers() - before).toBeLessThan(MIB);
    expect(mine.read()).toHaveLength(2000);
  });
});
