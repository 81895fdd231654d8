import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { newEntry } from "../../entries.js";
import { makePlace, textsIn } from "../../level-harness.js";

const place = makePlace();
afterEach(() => place.remove());

describe("a commit that replaces an entry and is damaged in the log", () => {
  it("leaves the replaced entry where its replacement is lost", async () => {
    const store = place.store();
    await store.open();
    const { ref } = await store.put(newEntry("the whole batch"));
    const [first, second] = ["1".repeat(100_000), "2".repeat(100)];
    await store.replace(ref, [newEntry(first), newEntry(second)]);
    await store.put(newEntry("a later batch"));
    await store.close();
    const log = join(place.directory, readdirSync(place.directory).find((name) => name.endsWith(".log"))!);
    const bytes = readFileSync(log);
    bytes[bytes.indexOf("1".repeat(100)) + 50_000] = 0;
    writeFileSync(log, bytes);

    expect(await store.open()).toMatchObject({ setAside: expect.any(String) });
    expect(await textsIn(store)).toEqual(["the whole batch", second, "a later batch"]);
    await store.close();
  });
});
