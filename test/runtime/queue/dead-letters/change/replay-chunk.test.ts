import { describe, expect, it } from "vitest";
import { editRecords } from "../../../../../src/plugin.js";
import { createReplayPreparation } from "../../../../../src/runtime/queue/send/replay-preparation.js";
import { logs } from "../../../../support/telemetry/batches.js";
import { deadLetter } from "../../operate/controls.js";
import { operated } from "./operated.js";

const SET = ['set(log.body, "new")'];

describe("a replay with statements", () => {
  it("sends what they make of each entry, and keeps the original", async () => {
    const { a, run, everything } = await operated();
    const { admin } = run();
    const { entry } = await deadLetter(a, { body: "old" });
    const report = await admin.replay({ ids: [entry.id] }, { by: "ann", transform: SET });
    expect(report).toMatchObject({ replayed: 1, skipped: {} });
    expect(await everything()).toEqual(["a pending new"]);
    const replayed = await admin.deadLetter(entry.id);
    expect(replayed).toMatchObject({ id: entry.id, replays: 1, edits: [{ revision: 1, by: "ann", transform: SET }] });
    expect(await admin.payload(entry.id, { revision: 0 })).toContain("old");
  });

  it("leaves an entry unchanged if the statements change nothing", async () => {
    const { a, run, everything } = await operated();
    const { admin } = run();
    const { entry } = await deadLetter(a, { body: "old" });
    await admin.replay(
      { ids: [entry.id] },
      { by: "ann", transform: ['set(log.body, "new") where log.body == "other"'] },
    );
    expect(await everything()).toEqual(["a pending old"]);
    expect(await admin.deadLetter(entry.id)).not.toHaveProperty("edits");
  });

  it("is refused at once when one does not compile", async () => {
    const { a, run, everything } = await operated();
    await deadLetter(a);
    const replay = run().admin.replay({ query: {} }, { by: "ann", transform: ["sett(log.body, 1)"] });
    await expect(replay).rejects.toMatchObject({ code: "bad_request", message: expect.stringContaining("sett") });
    expect(await everything()).toEqual(["a failed x"]);
  });

  it("leaves an entry for which one fails, and says why", async () => {
    const { a, run, everything } = await operated();
    const { entry } = await deadLetter(a, { body: "old" });
    const transform = ['set(log.attributes["n"], Int(log.body) + 1)'];
    const report = await run().admin.replay({ query: {} }, { by: "ann", transform });
    expect(report.skipped).toEqual({ skip_transform: 1 });
    expect(report.examples).toMatchObject([{ id: entry.id, reason: "skip_transform", message: expect.any(String) }]);
    expect(await everything()).toEqual(["a failed old"]);
  });

  it("leaves the old or the new one, and never both, whenever the process is killed", async () => {
    for (let dies = 0; ; dies++) {
      const { a, run, everything } = await operated();
      await deadLetter(a, { body: "old" });
      const { admin, writes } = run(dies);
      await admin.replay({ query: {} }, { by: "ann", transform: SET }).catch(() => {});
      expect(["a failed old", "a pending new"]).toContain((await everything()).join());
      if (writes() <= dies) break;
    }
  });
});

describe("a replay of which a part cannot be written", () => {
  it("sends the entries that were put back, and says that it failed", async () => {
    const transform = ['set(log.body, "new") where log.body == "old"'];
    for (let failsAfter = 0; ; failsAfter++) {
      const { a, run, everything } = await operated();
      for (const body of ["old", "same"]) await deadLetter(a, { body });
      const sent: string[] = [];
      a.onReplayed = (entries) => void sent.push(...entries.map(({ id }) => id));
      const { admin, writes } = run(failsAfter);
      const replay = admin.replay({ query: {} }, { by: "ann", transform });
      const isWhole = await replay.then(
        () => true,
        () => false,
      );
      expect(isWhole).toBe(writes() <= failsAfter);
      const pending = (await a.store.pending(undefined, 10)).map(({ entry }) => entry.id);
      expect(sent.toSorted(), (await everything()).join()).toEqual(pending.toSorted());
      if (isWhole) break;
    }
  });
});

describe("a replay to another exporter", () => {
  it("moves the entries into its queue, with their ids and their histories", async () => {
    const { a, b, run, everything } = await operated();
    const { admin } = run();
    const { entry } = await deadLetter(a);
    const report = await admin.replay({ query: {} }, { by: "ann", to: "b" });
    expect(report).toMatchObject({ replayed: 1, skipped: {} });
    expect(await everything()).toEqual(["b pending x"]);
    expect(await admin.deadLetter(entry.id)).toMatchObject({ exporter: "b", movedFrom: "a", replays: 1, cycles: [{}] });
    expect(b.woken).toBe(1);
  });

  it("does not send client headers meant for the first backend", async () => {
    const { a, b, run } = await operated();
    const { ref, entry } = await deadLetter(a);
    await a.store.fail(ref, { ...entry, metadata: { authorization: ["for a only"] } });
    await run().admin.replay({ query: {} }, { by: "ann", to: "b" });
    expect((await b.store.pending(undefined, 1))[0]!.entry).not.toHaveProperty("metadata");
  });

  it("accepts only existing exporters, and never skips replay steps", async () => {
    const { a, run, everything } = await operated();
    await deadLetter(a);
    const { admin } = run();
    await expect(admin.replay({ query: {} }, { by: "ann", to: "c" })).rejects.toMatchObject({ code: "not_found" });
    await expect(admin.replay({ query: {} }, { by: "ann", to: "b", pipeline: false })).rejects.toMatchObject({
      code: "bad_request",
    });
    expect(await everything()).toEqual(["a failed x"]);
  });

  it("checks the breaker of the target exporter", async () => {
    const { a, b, run, everything } = await operated();
    await deadLetter(a);
    a.breaker = b.breaker = "open";
    const { admin } = run();
    const down = await admin.replay({ query: {} }, { by: "ann", to: "b" });
    expect(down.skipped).toEqual({ skip_downstream: 1 });
    b.breaker = "closed";
    await admin.replay({ query: {} }, { by: "ann", to: "b" });
    expect(await everything()).toEqual(["b pending x"]);
  });

  it("loses nothing and sends nothing from both, whenever the process is killed", async () => {
    for (let dies = 0; ; dies++) {
      const { a, run, everything } = await operated();
      await deadLetter(a, { body: "old" });
      const first = run(dies);
      await first.admin.replay({ query: {} }, { by: "ann", to: "b", transform: SET }).catch(() => {});
      await first.stop();
      // Nothing that can be sent is there twice, not even before it is settled.
      const sendable = (await everything()).filter((each) => !each.startsWith("b arriving"));
      expect(sendable.length).toBeLessThanOrEqual(1);
      const { admin } = run();
      await admin.replay({ ids: ["none"] }, { by: "auto" });
      expect(["a failed old", "b pending new"]).toContain((await everything()).join());
      if (first.writes() <= dies) break;
    }
  });
});

describe("what is sent of a replayed entry", () => {
  it("has passed its own pipeline and those of the exporter it goes to", () => {
    const passed: string[] = [];
    const prepare = createReplayPreparation(
      (batch, pipeline) => {
        passed.push(pipeline);
        return batch;
      },
      [
        { id: "logs/b", signal: "logs" },
        { id: "traces/b", signal: "traces" },
        { id: "logs/c", signal: "logs" },
      ],
    );
    const pass = (pipeline: string) => prepare({ pipeline, signal: "logs" }, logs("x"));
    expect(pass("logs/a").error).toBeUndefined();
    expect(passed.splice(0)).toEqual(["logs/a", "logs/b", "logs/c"]);
    pass("logs/c");
    expect(passed).toEqual(["logs/c"]);
  });
});

describe("a dry run", () => {
  it("shows samples of what would be sent, masked, and changes nothing", async () => {
    const { a, run, everything } = await operated();
    const { admin } = run();
    await deadLetter(a, { body: "mail alice@example.com" });
    const transform = ['set(log.attributes["checked"], "by bob@example.com")'];
    const report = await admin.replay({ query: {} }, { by: "ann", dryRun: true, samples: 3, transform });
    expect(report.samples).toMatchObject([{ exporter: "a", changed: true, masked: true }]);
    const text = JSON.stringify(report.samples);
    expect(text).toContain('"key":"checked"');
    expect(text).not.toMatch(/alice@example|bob@example/);
    expect(await everything()).toEqual(["a failed mail alice@example.com"]);
    const revealed = await admin.replay({ query: {} }, { by: "ann", dryRun: true, samples: 1, revealSamples: true });
    expect(JSON.stringify(revealed.samples)).toContain("alice@example.com");
  });

  it("shows what the processors of the pipeline do to it, or why they refuse it", async () => {
    const { a, run } = await operated();
    await deadLetter(a, { body: "x" });
    const withPrepare = (prepare: NonNullable<typeof a.prepare>) => Object.assign(a, { prepare });
    withPrepare((_, batch) => ({
      batch: editRecords(batch, (record) => void (record.signal === "logs" && record.attributes.set("step", "done"))),
    }));
    const dry = { by: "ann", dryRun: true, samples: 1 };
    const shown = await run().admin.replay({ query: {} }, dry);
    expect(JSON.stringify(shown.samples![0]!.after)).toContain('"step"');
    expect(JSON.stringify(shown.samples![0]!.before)).not.toContain('"step"');
  });

  it("does not show revealed samples to people who look at the replay later", async () => {
    const { a, run } = await operated();
    const { admin } = run();
    await deadLetter(a, { body: "mail alice@example.com" });
    const job = await admin
      .actingAs({ actor: "ann", reason: "check" })
      .startReplay({ query: {} }, { by: "ann", dryRun: true, samples: 1, revealSamples: true });
    expect(JSON.stringify(job)).toContain("alice@example.com");
    expect(JSON.stringify(await admin.replayJob(job.id))).not.toContain("alice@example.com");
    const { records } = await admin.audit({ action: "reveal" });
    expect(records).toMatchObject([{ actor: "ann", reason: "check" }]);
  });
});
