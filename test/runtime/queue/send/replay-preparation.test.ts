import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type Batch,
  defineExporter,
  defineProcessor,
  eachBatch,
  editRecords,
  Refusal,
  type ReplayStep,
  SIGNALS,
} from "../../../../src/plugin.js";
import type { Entry } from "../../../../src/runtime/contract/operations/entry.js";
import { refusalOfHttp } from "../../../../src/runtime/net/otlp/refusals.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { cleanUp, startWrapped } from "../agent.js";
import { deadLetter as putDeadLetter } from "../operate/controls.js";
import { type Backend, startQueue } from "../queue.js";

afterEach(cleanUp);

const schema = z.unknown();
const summary = "test";

/** Makes "v1 x" into "v2 x", and knows nothing of v9. */
const upcast: ReplayStep = (batch) =>
  editRecords(batch, (record) => {
    if (record.signal !== "logs") return;
    const body = String(record.body);
    if (body.startsWith("v9")) throw new Refusal("permanent", `no such version: ${body}`, { code: "TEST_VERSION" });
    record.body = body.replace(/^v1/, "v2");
  });

/** A pipeline with a processor that has a replay step, before a backend that takes nothing until `open`. */
function parts(step: ReplayStep) {
  const sent: string[] = [];
  const state = { isOpen: false };
  const version = defineProcessor({
    type: "version",
    summary,
    schema,
    signals: SIGNALS,
    create: () => eachBatch((batch) => batch),
    replay: () => step,
  });
  const create = () => ({
    send: async (batch: Batch) => {
      if (!state.isOpen) throw refusalOfHttp(409, "no", undefined);
      sent.push(...bodies(batch));
      return undefined;
    },
  });
  const out = defineExporter({ type: "out", summary, schema, signals: SIGNALS, create });
  return { sent, state, options: { components: [version, out], processors: { version: {} } } };
}

describe("a replayed entry of a pipeline with a replay step", () => {
  it("passes the step before it is sent, and what is stored stays as it was", async () => {
    const { sent, state, options } = parts(upcast);
    const { agent, send } = await startWrapped("  out: {}", options);
    await send("v1 a", "v2 b");
    await expect.poll(async () => (await agent.admin!.listDeadLetters({})).entries.length).toBe(1);
    const before = (await agent.admin!.listDeadLetters({})).entries[0]!;
    await agent.admin!.replay({ query: {} }, { by: "test" });
    const isBack = async () => (await agent.admin!.listDeadLetters({})).entries[0]?.cycles.length;
    await expect.poll(isBack).toBe(1);
    expect(await agent.admin!.payload(before.id)).toContain("v1 a");
    state.isOpen = true;
    await agent.admin!.replay({ query: {} }, { by: "test" });
    await expect.poll(() => sent).toEqual(["v2 a", "v2 b"]);
    await expect.poll(() => agent.admin!.deadLetter(before.id)).toMatchObject({ state: "delivered" });
    expect((await agent.admin!.listDeadLetters({})).entries).toEqual([]);
  });

  it("stays a dead letter where the step refuses it, and the records beside it are delivered", async () => {
    const { sent, state, options } = parts(upcast);
    const { agent, send } = await startWrapped("  out: {}", options);
    await send("v9 alone");
    await send("v1 a", "v9 b", "v1 c");
    const entries = async () => (await agent.admin!.listDeadLetters({})).entries;
    await expect.poll(async () => (await entries()).length).toBe(2);
    state.isOpen = true;
    const report = await agent.admin!.replay({ query: {} }, { by: "test" });
    expect(report).toMatchObject({ replayed: 1, skipped: { skip_schema: 1 } });
    await expect.poll(() => [...sent].sort()).toEqual(["v2 a", "v2 c"]);
    const isBack = ({ cycles }: Entry) => cycles.length === 1;
    await expect
      .poll(async () => (await entries()).filter(isBack))
      .toMatchObject([
        {
          items: 1,
          calls: 0,
          replays: 1,
          failure: { reason: "permanent", category: "schema", error: { class: "TEST_VERSION" } },
          cycles: [{ replayedBy: "test", failure: { category: "integration" } }],
        },
      ]);
  });
});

describe("a replay step", () => {
  async function replayed(prepareReplay: (batch: Batch, pipeline: string) => Batch, backend?: Backend) {
    const store = new MemoryStore({ exporter: "out" });
    await store.open();
    const { ref, entry } = await putDeadLetter({ store } as Parameters<typeof putDeadLetter>[0], { body: "a" });
    const { failure: _, ...rest } = entry;
    await store.replay([{ ref, entry: { ...rest, calls: 0, attempts: 0, replays: 1 } }]);
    await store.close();
    const queue = await startQueue({ store, prepareReplay, ...(backend && { backend }) });
    await queue.settle();
    return queue;
  }

  it("that drops all records is a permanent failure, never a delivery, and not the backend's fault", async () => {
    const queue = await replayed((batch) => editRecords(batch, () => "drop"));
    expect(queue.calls).toEqual([]);
    expect(await queue.deadLetters()).toMatchObject([
      { calls: 0, failure: { reason: "permanent", error: { code: "SLUICE_REPLAY_REFUSED" } } },
    ]);
    expect((await queue.deadLetters())[0]?.failure?.error.message).toContain("left out all 1 records");
    expect(queue.outlet.status()).toMatchObject({ state: "UP", lastError: undefined });
  });

  it("that throws something else is a permanent failure too", async () => {
    const queue = await replayed(() => {
      throw new TypeError("oh");
    });
    expect(await queue.deadLetters()).toMatchObject([
      { failure: { reason: "permanent", category: "schema", error: { message: "oh" } } },
    ]);
  });

  it("is asked before every attempt, with the pipeline the entry came through", async () => {
    const asked: string[] = [];
    const backend: Backend = async () => {
      if (asked.length < 2) throw refusalOfHttp(503, "no", undefined);
      return undefined;
    };
    const queue = await replayed((_batch, pipeline) => {
      asked.push(pipeline);
      return logs("new");
    }, backend);
    await queue.pass(1000);
    expect(asked).toEqual(["logs", "logs"]);
    expect(queue.taken).toEqual(["new"]);
  });

  it("is not asked about what was never replayed", async () => {
    const queue = await startQueue({
      prepareReplay: () => {
        throw new Error("no");
      },
    });
    queue.send("a");
    await queue.settle();
    expect(queue.taken).toEqual(["a"]);
  });
});
