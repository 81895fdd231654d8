import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Logger } from "../../../../src/plugin.js";
import { silentLogger } from "../../../../src/runtime/contract/observability.js";
import { createDeadLetterLanguage } from "../../../../src/runtime/ottl/compile/dead-letter-language.js";
import { directoryNameOf, exporterOfDirectory } from "../../../../src/runtime/queue/operate/directory-name.js";
import { openOfflineQueues } from "../../../../src/runtime/queue/operate/offline-queues.js";
import { type OtlpSink, startSink } from "../../../support/otlp-sink.js";
import { bodies } from "../../../support/telemetry/batches.js";
import { until } from "../../../support/until.js";
import { cleanUp, startWrapped, type WrappedOptions } from "../agent.js";

let sink: OtlpSink;
let status = 503;
const messages: string[] = [];
const log = (_: object, message: string) => void messages.push(message);
const logger: Logger = { ...silentLogger, info: log, warn: log, child: () => logger };

beforeEach(async () => {
  messages.length = 0;
  status = 503;
  sink = await startSink();
  sink.decide(() => status);
});
afterEach(async () => {
  await cleanUp();
  await sink.close();
});

function start(number: number, count: number, { id = "otlp_http", keys = "", ...options }: StartOptions = {}) {
  const retries = "retry_on_failure: {initial_interval: 10ms, max_interval: 50ms}";
  const exporter = `\n  ${id}:\n    endpoint: ${sink.url}\n    ${retries}\n    ${keys}`;
  return startWrapped(exporter, { logger, worker: { number, count }, ...options });
}

interface StartOptions extends WrappedOptions {
  readonly id?: string;
  readonly keys?: string;
}

const delivered = () => sink.batches.flatMap(bodies);
const workersIn = (directory: string) => readdirSync(directory).filter((name) => name.startsWith("worker-"));

describe("the queues of workers", () => {
  it("are in directories of their own, which are no queues of exporters", async () => {
    const first = await start(1, 2);
    const second = await start(2, 2, { directory: first.directory });
    await first.send("a");
    await second.send("b");
    expect(existsSync(join(first.directory, "otlp_http"))).toBe(true);
    expect(existsSync(join(first.directory, "worker-2", "otlp_http"))).toBe(true);
    expect(await first.agent.admin!.orphans!.list()).toEqual([]);
    expect(await second.agent.admin!.orphans!.list()).toEqual([]);
    expect(exporterOfDirectory("worker-2")).toBeUndefined();
    expect(exporterOfDirectory(directoryNameOf("worker-2"))).toBe("worker-2");
  });

  it("are adopted in order by a single process, once each, with their dead letters", async () => {
    status = 400;
    const third = await start(3, 3);
    await third.send("dead");
    await until(() => expect(third.agent.admin!.exporters()[0]!.deadLetters.entries).toBe(1));
    const [dead] = (await third.agent.admin!.listDeadLetters({})).entries;
    third.agent.admin!.pause("otlp_http");
    await third.send("third 1");
    await third.send("third 2");
    const { directory } = third;
    const second = await start(2, 3, { directory });
    second.agent.admin!.pause("otlp_http");
    const seconds = Array.from({ length: 120 }, (_, i) => `second ${i}`);
    for (const each of seconds) await second.send(each);
    await second.agent.stop(0);
    await third.agent.stop(0);
    expect(workersIn(directory)).toEqual(["worker-2", "worker-3"]);
    status = 200;
    const keys = "sending_queue: {num_consumers: 1}";
    const single = await start(1, 1, { directory, keys, worker: undefined });
    await until(() => expect(delivered()).toEqual([...seconds, "third 1", "third 2"]));
    await until(() => expect(workersIn(directory)).toEqual([]));
    expect((await single.agent.admin!.listDeadLetters({})).entries).toEqual([dead]);
    expect(single.agent.admin!.exporters()[0]!.queue.entries).toBe(0);
  });

  it("are adopted while the agent runs, once their workers have closed them", async () => {
    const first = await start(1, 2);
    const second = await start(2, 2, { directory: first.directory });
    await second.send("a");
    await first.agent.adoptWorkersAbove(1);
    await until(() => expect(messages).toContain("waiting for a stopping worker to close its queue"));
    await second.agent.stop(0);
    await until(() => expect(first.agent.admin!.exporters()[0]!.queue.entries).toBe(1));
    await until(() => expect(workersIn(first.directory)).toEqual([]));
  });

  it("are left to a worker that comes back before all its entries were moved", async () => {
    const keys = "sending_queue: {queue_size: 120}"; // 60 for each worker
    const first = await start(1, 2, { keys });
    const { directory } = first;
    const second = await start(2, 2, { directory, keys });
    for (const { agent } of [first, second]) agent.admin!.pause("otlp_http");
    for (let i = 0; i < 60; i++) await second.send(`${i}`);
    for (let i = 0; i < 20; i++) await first.send(`first ${i}`);
    await second.agent.stop(0);
    await first.agent.adoptWorkersAbove(1);
    const depth = () => first.agent.admin!.exporters()[0]!.queue.entries;
    await until(() => expect(depth()).toBe(70));
    await first.agent.adoptWorkersAbove(2);
    status = 200;
    first.agent.admin!.resume("otlp_http");
    await start(2, 2, { directory, keys });
    await until(() => expect(delivered()).toHaveLength(80));
    expect(new Set(delivered()).size).toBe(80);
  });

  it("are orphaned if no exporter of the config has them, and can be adopted and deleted", async () => {
    const first = await start(1, 3);
    const { directory } = first;
    for (const number of [2, 3]) {
      const worker = await start(number, 3, { directory, id: "otlp_http/old" });
      await worker.send(`old ${number}`);
      await worker.agent.stop(0);
    }
    const { orphans } = first.agent.admin!;
    expect(await orphans!.list()).toEqual([]);
    await first.agent.adoptWorkersAbove(1);
    await until(async () =>
      expect((await orphans!.list()).map(({ id, pending }) => [id, pending])).toEqual([
        ["worker-2:otlp_http/old", 1],
        ["worker-3:otlp_http/old", 1],
      ]),
    );
    expect(await orphans!.delete("worker-3:otlp_http/old")).toBe(1);
    await orphans!.adopt("worker-2:otlp_http/old", { to: "otlp_http", by: "ann" });
    await until(() => expect(first.agent.admin!.exporters()[0]!.queue.entries).toBe(1));
    await until(async () => expect(await orphans!.list()).toEqual([]));
    await until(() => expect(workersIn(directory)).toEqual([]));
  });

  it("leave their operators' records to worker 1", async () => {
    const first = await start(1, 2);
    const { directory } = first;
    const second = await start(2, 2, { directory });
    status = 400;
    await second.send("x");
    const admin = second.agent.admin!.actingAs({ actor: "ann" });
    await until(async () => expect((await admin.listDeadLetters({})).entries).toHaveLength(1));
    await admin.payload((await admin.listDeadLetters({})).entries[0]!.id, { reveal: true });
    await second.agent.stop(0);
    await first.agent.adoptWorkersAbove(1);
    await until(() => expect(workersIn(directory)).toEqual([]));
    const { records } = await first.agent.admin!.audit({});
    expect(records.filter(({ action }) => action === "reveal").map(({ actor }) => actor)).toEqual(["ann"]);
    expect((await first.agent.admin!.listDeadLetters({})).entries).toHaveLength(1);
  });

  it("can be looked at while no agent runs", async () => {
    status = 400;
    const second = await start(2, 2);
    await second.send("x");
    await until(() => expect(second.agent.admin!.exporters()[0]!.deadLetters.entries).toBe(1));
    const [dead] = (await second.agent.admin!.listDeadLetters({})).entries;
    await second.agent.stop(0);
    const language = createDeadLetterLanguage(1000);
    const offline = await openOfflineQueues(second.directory, { language, mask: async (batch) => batch });
    expect((await offline.admin.listDeadLetters({})).entries).toEqual([dead]);
    expect(offline.admin.exporters().map(({ id }) => id)).toEqual(["worker-2:otlp_http"]);
    await offline.close();
  });
});
