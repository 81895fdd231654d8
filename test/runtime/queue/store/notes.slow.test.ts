import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../support/runs.js";
import { newEntry } from "./entries.js";
import { makePlace, type Place } from "./level-harness.js";

const note = (text: string) => ({ owner: "sampler", after: 0, bytes: Buffer.from(text) });

async function notesIn(place: Place): Promise<string[]> {
  const store = place.store();
  await store.open();
  const notes = await store.notes.load();
  await store.close();
  return notes.map(({ bytes }) => Buffer.from(bytes).toString());
}

/** Takes the directory as it is at this moment: what a killed process would leave. */
function snapshot(place: Place): Place {
  const copy = makePlace();
  cpSync(place.root, copy.root, { recursive: true, filter: (path) => !path.endsWith("LOCK") });
  return copy;
}

describe("notes in a store on disk", () => {
  it("are there again, in order, with their owner, until they are removed", async () => {
    const place = makePlace();
    const store = place.store();
    await store.open();
    await store.notes.load();
    const [first] = ["a", "b", "c"].map((text) => store.notes.add(note(text)));
    await store.close();
    expect(await notesIn(place)).toEqual(["a", "b", "c"]);
    const again = place.store();
    await again.open();
    expect(await again.notes.load()).toMatchObject([{ number: first, owner: "sampler", after: 0 }, {}, {}]);
    again.notes.remove([first!]);
    again.notes.add(note("d"));
    await again.close();
    expect(await notesIn(place)).toEqual(["b", "c", "d"]);
    await place.remove();
  });

  it("are on disk when an acknowledgement is that came after them, whenever the process is killed", async () => {
    const steps = fc.array(fc.constantFrom("put", "ack", "note", "pause", "crash"), { minLength: 5, maxLength: 40 });
    const property = fc.asyncProperty(steps, async (names) => {
      const places = [makePlace()];
      let store = places[0]!.store();
      await store.open();
      await store.notes.load();
      let pending: { ref: number; id: string }[] = [];
      let acked: { id: string; notesBefore: number }[] = [];
      let written: string[] = [];
      for (const [i, name] of names.entries()) {
        if (name === "put") {
          const { ref, entry } = await store.put(newEntry(String(i)));
          pending.push({ ref, id: entry.id });
        } else if (name === "ack" && pending.length > 0) {
          const { ref, id } = pending.shift()!;
          store.ack(ref);
          acked.push({ id, notesBefore: written.length });
        } else if (name === "note") {
          written.push(String(i));
          store.notes.add(note(String(i)));
        } else if (name === "pause") await new Promise((resolve) => setTimeout(resolve, 1));
        else if (name === "crash") {
          const copy = snapshot(places.at(-1)!);
          await store.close();
          places.push(copy);
          store = copy.store();
          expect(await store.open()).toMatchObject({ lostEntries: 0, corruptEntries: 0 });
          const found = (await store.notes.load()).map(({ bytes }) => Buffer.from(bytes).toString());
          expect(found).toEqual(written.slice(0, found.length));
          for (const { id, notesBefore } of acked)
            if ((await store.find(id)) === undefined) expect(found.length).toBeGreaterThanOrEqual(notesBefore);
          pending = (await store.pending(undefined, 100)).map(({ ref, entry }) => ({ ref, id: entry.id }));
          written = found;
          acked = [];
        }
      }
      await store.close();
      for (const place of places) await place.remove();
    });
    await fc.assert(property, runs(20));
  });

  it("are left out when they cannot be read, and the others stay", async () => {
    const place = makePlace();
    const store = place.store();
    await store.open();
    await store.notes.load();
    for (const text of ["first", "second", "third"]) {
      store.notes.add(note(text.repeat(20)));
      await store.put(newEntry(text));
    }
    await store.close();
    const log = join(place.directory, readdirSync(place.directory).find((name) => name.endsWith(".log"))!);
    const bytes = readFileSync(log);
    bytes[bytes.indexOf("secondsecond")]! ^= 4;
    writeFileSync(log, bytes);
    const found = await notesIn(place);
    expect(found).not.toContain("second".repeat(20));
    expect(found).toContain("first".repeat(20));
    await place.remove();
  });
});
