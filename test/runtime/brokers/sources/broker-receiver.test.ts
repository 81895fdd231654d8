import { mkdtemp, readdir, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { dedupSection } from "../../../../src/runtime/brokers/dedup/dedup-config.js";
import { BrokerReceiver } from "../../../../src/runtime/brokers/sources/broker-receiver.js";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import type { ReceiverContext } from "../../../../src/runtime/contract/component.js";
import { noMetrics, silentLogger } from "../../../../src/runtime/contract/observability.js";
import { TestIntake } from "../../../../src/testing.js";

const context: ReceiverContext = {
  id: "broker",
  kind: "receiver",
  logger: silentLogger,
  metrics: noMetrics,
  clock: systemClock,
  random: () => 0.5,
  intakes: { traces: new TestIntake() },
};

it("opens sources for the signals of pipelines, and closes the connection after all of them have stopped", async () => {
  const steps: string[] = [];
  const source = (name: string) => ({
    start: () => void steps.push(`start ${name}`),
    stop: async () => void steps.push(`stop ${name}`),
  });
  const receiver = new BrokerReceiver({}, context, ({ signals, dedup }) => {
    steps.push(`open ${signals.join()} ${String(dedup)}`);
    return { sources: [source("a"), source("b")], close: async () => void steps.push("close") };
  });
  await receiver.start();
  await receiver.stop();
  await receiver.stop();
  expect(steps).toEqual(["open traces undefined", "start a", "start b", "stop a", "stop b", "close"]);
});

it("stops everything that has started, and closes the dedup keys, when a source cannot start", async () => {
  const directory = await mkdtemp(join(tmpdir(), "sluice-broker-receiver-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const dedup = dedupSection("messages").parse({ enabled: true, directory });
  const stopped: string[] = [];
  const receiver = new BrokerReceiver({ dedup }, context, () => ({
    sources: [
      { start: async () => {}, stop: async () => void stopped.push("one") },
      { start: () => Promise.reject(new Error("no such queue")), stop: async () => void stopped.push("other") },
    ],
  }));
  await expect(receiver.start()).rejects.toThrow("no such queue");
  expect(stopped).toEqual(["one", "other"]);
  expect((await openFiles()).filter((path) => path.startsWith(directory))).toEqual([]);
});

/** The files that this process has open. */
async function openFiles(): Promise<string[]> {
  const descriptors = await readdir("/proc/self/fd");
  return Promise.all(descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
}
