import { afterEach, expect, it } from "vitest";
import type { Admin } from "../../src/runtime/contract/operations/admin.js";
import type { Entry } from "../../src/runtime/contract/operations/entry.js";
import { deadLetterLanguage } from "../../src/runtime/ottl/compile/dead-letter-language.js";
import { writeTransferLine } from "../../src/runtime/queue/dead-letters/transfer/transfer-line.js";
import { openOfflineQueues } from "../../src/runtime/queue/operate/offline-queues.js";
import { openQueue, temporary } from "../agent/cli/dlq/support.js";
import { cleanUp, startWrapped } from "../runtime/queue/agent.js";
import { failedEntry, newEntry } from "../runtime/queue/store/entries.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";
import { bodies, logs } from "../support/telemetry/batches.js";

const sinks: OtlpSink[] = [];
afterEach(async () => {
  await cleanUp();
  for (const sink of sinks.splice(0)) await sink.close();
});

const SECRET = "write to joe@example.com";

async function start(directory?: string) {
  const sink = await startSink();
  sinks.push(sink);
  const exporter = `  otlp_http: {endpoint: '${sink.url}'}`;
  const { agent } = await startWrapped(exporter, { processors: { pii: {} }, ...(directory && { directory }) });
  const admin = agent.admin!;
  const sent = () => sink.batches.flatMap(bodies);
  return { admin, sent, skipped: async () => (await admin.replay({ query: {} }, { by: "ann" })).skipped };
}

function failed(entry: Entry): Entry {
  const { failure, ...rest } = failedEntry(entry);
  return { ...rest, failure: { ...failure!, at: Date.now() } };
}

async function importOne(admin: Admin, fields: Partial<Entry>, ...texts: string[]): Promise<void> {
  const batch = logs(...texts);
  const { source, enqueuedAt, generation } = newEntry("");
  const fresh = { id: "elsewhere-1", exporter: "otlp_http", signal: "logs", items: texts.length, bytes: 9 } as const;
  const entry = {
    ...fresh,
    source,
    enqueuedAt,
    generation,
    attempts: 0,
    calls: 0,
    history: [],
    cycles: [],
    replays: 0,
  };
  const line = writeTransferLine({ batch, entry: { ...failed(entry as never), ...fields } });
  const lines = (async function* () {
    yield line;
  })();
  expect(await admin.importDeadLetters(lines)).toEqual({ imported: 1, problems: [] });
}

it.each([[[SECRET]], [[SECRET, SECRET]]])(
  "does not replay an imported dead letter that names no pipeline of the config",
  async (texts) => {
    const { admin, sent, skipped } = await start();
    await importOne(admin, { pipeline: "logs/gone", goesAsItIs: true }, ...texts);
    expect(await skipped()).toEqual({ skip_pipeline: 1 });
    expect(sent()).toEqual([]);
  },
);

it("replays it with the steps of a named pipeline, and refuses an unknown one", async () => {
  const { admin, sent } = await start();
  await importOne(admin, { pipeline: "logs/gone" }, SECRET);
  await expect(admin.replay({ query: {} }, { by: "ann", pipeline: "logs/typo" })).rejects.toThrow("logs/typo");
  expect(await admin.replay({ query: {} }, { by: "ann", pipeline: "logs" })).toMatchObject({ replayed: 1 });
  await expect.poll(sent).toHaveLength(1);
  expect(sent()[0]).not.toContain("joe@example.com");
});

it("sends it as it is when that is said, and treats those of its own pipelines all the same", async () => {
  const { admin, sent } = await start();
  await importOne(admin, { pipeline: "logs/gone" }, SECRET);
  await importOne(admin, { pipeline: "logs", id: "elsewhere-2" }, `${SECRET} too`);
  expect(await admin.replay({ query: {} }, { by: "ann", pipeline: false })).toMatchObject({ replayed: 2 });
  await expect.poll(sent).toHaveLength(2);
  expect(sent().filter((text) => text.includes("joe@example.com"))).toEqual([SECRET]);
});

it("sends nothing of one that was put back while no agent knew its pipelines", async () => {
  const directory = await temporary();
  const store = await openQueue(directory, "otlp_http");
  const { ref, entry } = await store.put({ ...newEntry(SECRET), pipeline: "logs/gone" });
  await store.fail(ref, failed(entry));
  await store.close();
  const offline = await openOfflineQueues(directory, { language: deadLetterLanguage });
  await expect(offline.admin.replay({ query: {} }, { by: "ann", pipeline: false })).rejects.toThrow("start it first");
  expect(await offline.admin.replay({ query: {} }, { by: "ann" })).toMatchObject({ replayed: 1 });
  await offline.close();
  const { admin, sent } = await start(directory);
  const failures = async () => (await admin.listDeadLetters({})).entries.map(({ failure }) => failure?.error.code);
  await expect.poll(failures).toEqual(["SLUICE_REPLAY_NO_PIPELINE"]);
  expect(sent()).toEqual([]);
});
