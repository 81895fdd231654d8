import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { cleanUp, startWrapped } from "../../runtime/queue/agent.js";
import { startSink } from "../../support/otlp-sink.js";
import { events, seen } from "./support.js";

afterEach(cleanUp);

const OLD = { "order.paid": { current: 2, upcasts: [{ from: 1, to: 2, set: { currency: "EUR" } }] } };
const NEW = {
  "order.paid": { current: 3, upcasts: [...OLD["order.paid"].upcasts, { from: 2, to: 3, rename: { sum: "amount" } }] },
};

describe("a dead letter of an old version", () => {
  it("is upcast when it is replayed by an agent whose config knows its version", async () => {
    const sink = await startSink();
    onTestFinished(() => sink.close());
    const exporter = `  otlp_http: {endpoint: "${sink.url}"}`;
    sink.respond((_, response) => response.writeHead(400).end("schema 2 is not taken any more"));
    const before = await startWrapped(exporter, { processors: { versioning: { events: OLD } } });
    await before.hand(events(["order.paid", { sum: 5n }]));
    const entries = async () => (await before.agent.admin!.listDeadLetters({})).entries;
    await expect.poll(async () => (await entries()).length).toBe(1);
    await before.agent.stop();

    sink.respond(undefined);
    const { directory } = before;
    const after = await startWrapped(exporter, { directory, processors: { versioning: { events: NEW } } });
    await after.agent.admin!.replay({ query: {} }, { by: "test" });
    await expect
      .poll(() => sink.batches.flatMap(seen))
      .toEqual([["order.paid", { currency: "EUR", "event.version": 3, amount: 5 }]]);
    await expect.poll(async () => (await after.agent.admin!.listDeadLetters({})).entries).toEqual([]);
  });

  it("raises no counters during a dry run of its replay", async () => {
    const sink = await startSink();
    onTestFinished(() => sink.close());
    sink.respond((_, response) => response.writeHead(400).end("no"));
    const exporter = `  otlp_http: {endpoint: "${sink.url}"}`;
    const before = await startWrapped(exporter, { processors: { versioning: { events: OLD } } });
    await before.hand(events(["order.paid", { sum: 5n }]));
    await expect.poll(async () => (await before.agent.admin!.listDeadLetters({})).entries.length).toBe(1);
    await before.agent.stop();
    const { directory } = before;
    const { agent, metrics } = await startWrapped(exporter, { directory, processors: { versioning: { events: NEW } } });
    const report = await agent.admin!.replay({ query: {} }, { by: "test", dryRun: true });
    expect(report).toMatchObject({ replayed: 1 });
    expect(metrics.value("sluice_versioning_deprecated_items")).toBe(0);
    await agent.admin!.replay({ query: {} }, { by: "test" });
    await expect.poll(() => metrics.value("sluice_versioning_deprecated_items")).toBe(1);
  });

  it("is kept while its version is unknown, and is replayed once it is known", async () => {
    const sink = await startSink();
    onTestFinished(() => sink.close());
    const exporter = `  otlp_http: {endpoint: "${sink.url}"}`;
    const processors = { versioning: { events: OLD, unknown: "dead_letter" } };
    const before = await startWrapped(exporter, { processors });
    expect((await before.hand(events(["order.paid.v3", { amount: 1n }], ["order.paid"]))).ok).toBe(true);
    await expect
      .poll(() => sink.batches.flatMap(seen))
      .toEqual([["order.paid", { currency: "EUR", "event.version": 2 }]]);
    const { entries } = await before.agent.admin!.listDeadLetters({});
    expect(entries).toHaveLength(1);
    expect(entries[0]!.failure).toMatchObject({
      reason: "rejected",
      category: "schema",
      names: ["order.paid.v3"],
      error: { code: "SLUICE_UNKNOWN_VERSION", message: "order.paid has the unknown version 3" },
    });
    const report = await before.agent.admin!.replay({ query: {} }, { by: "test" });
    expect(report).toMatchObject({ replayed: 0, skipped: { skip_schema: 1 } });
    await before.agent.stop();

    const { directory } = before;
    const after = await startWrapped(exporter, {
      directory,
      processors: { versioning: { events: NEW, unknown: "dead_letter" } },
    });
    expect(await after.agent.admin!.replay({ query: {} }, { by: "test" })).toMatchObject({ replayed: 1 });
    await expect
      .poll(() => sink.batches.flatMap(seen).at(-1))
      .toEqual(["order.paid", { amount: 1, "event.version": 3 }]);
  });
});
