import { describe, expect, it } from "vitest";
import { batchToJson } from "../../../../../src/plugin.js";
import { logs } from "../../../../support/telemetry/batches.js";
import { deadLetter } from "../../operate/controls.js";
import { failure, newEntry } from "../../store/entries.js";
import { makePlace } from "../../store/level-harness.js";
import { operated } from "./operated.js";

const payload = (text: string) => batchToJson(logs(text));

describe("an edited dead letter", () => {
  it("has the new payload, keeps its id and its failure, and the original in its history", async () => {
    const { a, run } = await operated();
    const { admin } = run();
    const { entry } = await deadLetter(a, { body: "wrong of alice@example.com" });
    const edited = await admin
      .actingAs({ actor: "ann", reason: "typo" })
      .editDeadLetter(entry.id, { by: "ann", payload: payload("right"), revision: 0 });
    expect(edited).toMatchObject({ id: entry.id, state: "failed", failure: { reason: entry.failure!.reason } });
    expect(edited.edits).toMatchObject([{ revision: 1, by: "ann", reason: "typo" }]);
    expect(await admin.payload(entry.id)).toContain("right");
    expect(await admin.payload(entry.id, { revision: 0, reveal: true })).toContain("wrong of alice@example.com");
    expect(await admin.payload(entry.id, { revision: 0 })).not.toContain("alice@example.com");
    expect(await admin.payload(entry.id, { revision: 7 })).toBeUndefined();
    const { records } = await admin.audit({ action: "edit" });
    expect(records).toMatchObject([{ actor: "ann", reason: "typo", target: entry.id, outcome: "done" }]);
  });

  it("keeps its original beyond the history's time for as long as it is there, and loses it when it is removed", async () => {
    const { a, run, clock } = await operated();
    const { admin } = run();
    const ids = [await deadLetter(a), await deadLetter(a)].map(({ entry }) => entry.id);
    for (const id of ids) await admin.editDeadLetter(id, { by: "ann", payload: payload("1"), revision: 0 });
    await clock.advance(3_600_000);
    await admin.editDeadLetter(ids[0]!, { by: "ann", payload: payload("2"), revision: 1 });
    expect(await admin.payload(ids[1]!, { revision: 0 })).toBeDefined();
    await admin.deleteDeadLetters({ ids: [ids[1]!] });
    expect(await admin.payload(ids[1]!, { revision: 0 })).toBeUndefined();
    expect(await admin.payload(ids[0]!, { revision: 1 })).toContain('"1"');
  });

  it("is not changed by an editor who has seen an older revision", async () => {
    const { a, run } = await operated();
    const { admin } = run();
    const { entry } = await deadLetter(a);
    const both = ["ann", "bob"].map((by) =>
      admin.editDeadLetter(entry.id, { by, payload: payload(`by ${by}`), revision: 0 }).catch((error) => error),
    );
    const [first, second] = await Promise.all(both);
    expect(first.edits).toHaveLength(1);
    expect(second).toMatchObject({ code: "conflict", message: expect.stringContaining("ann changed") });
    expect(await admin.payload(entry.id)).toContain("by ann");
  });

  it.each([
    ["{", "not JSON"],
    ["[]", "an object"],
    ['"text"', "an object"],
    ["{}", "no records"],
    [
      '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"sevrityText":"x"}]}]}]}',
      "scopeLogs[0].logRecords[0].sevrityText",
    ],
    ['{"resourceSpans":[]}', "resourceSpans"],
    ['{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"soon"}]}]}]}', "timeUnixNano"],
  ])("refuses a payload that is not OTLP: %s", async (text, words) => {
    const { a, run, everything } = await operated();
    const { entry } = await deadLetter(a);
    const edit = run().admin.editDeadLetter(entry.id, { by: "ann", payload: text, revision: 0 });
    await expect(edit).rejects.toMatchObject({ code: "bad_request", message: expect.stringContaining(words) });
    expect(await everything()).toEqual(["a failed x"]);
  });

  it("cannot be edited while it is replayed", async () => {
    const { a, run } = await operated();
    const { admin } = run();
    const { entry } = await deadLetter(a);
    await admin.replay({ ids: [entry.id] }, { by: "ann" });
    const edit = admin.editDeadLetter(entry.id, { by: "ann", payload: payload("y"), revision: 0 });
    await expect(edit).rejects.toMatchObject({ code: "conflict" });
    await expect(admin.editDeadLetter("x", { by: "ann", payload: payload("y"), revision: 0 })).rejects.toMatchObject({
      code: "not_found",
    });
  });

  it("is the old or the new one, whenever the process is killed", async () => {
    for (let dies = 0; ; dies++) {
      const { a, run, everything } = await operated();
      const { entry } = await deadLetter(a);
      const { admin, writes, stop } = run(dies);
      const edit = { by: "ann", payload: payload("y"), revision: 0 };
      await admin.editDeadLetter(entry.id, edit).catch(() => {});
      await stop();
      const after = run().admin;
      const [left] = await everything();
      expect(["a failed x", "a failed y"]).toContain(left);
      if (left === "a failed x") await after.editDeadLetter(entry.id, edit);
      expect(await everything()).toEqual(["a failed y"]);
      expect(await after.payload(entry.id, { revision: 0 })).toContain('"x"');
      if (writes() <= dies) break;
    }
  });
});

describe("a store on disk", () => {
  it("lets the entry that takes the place of another have its id", async () => {
    const place = makePlace();
    const store = place.store();
    await store.open();
    const { ref, entry } = await store.put(newEntry("old"));
    await store.fail(ref, { ...entry, failure });
    const [replaced] = await store.replace(ref, [
      { ...newEntry("new"), fields: { id: entry.id, state: "failed", failure } },
    ]);
    expect(replaced!.entry.id).toBe(entry.id);
    await store.close();
    const again = place.store();
    await again.open();
    const found = await again.find(entry.id);
    expect(batchToJson(await again.payload(found!.ref))).toContain("new");
    expect(again.stats.failed.entries).toBe(1);
    expect(await again.failed(undefined, 10, "oldest")).toHaveLength(1);
    await again.close();
    await place.remove();
  });
});
