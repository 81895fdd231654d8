import { MessageChannel } from "node:worker_threads";
import { z } from "zod";
import { defineReceiver, Refusal, SIGNALS } from "../../../../src/plugin.js";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { silentLogger } from "../../../../src/runtime/contract/observability.js";
import type { Entry } from "../../../../src/runtime/contract/operations/entry.js";
import { adminMethods } from "../../../../src/runtime/workers/face/admin-methods.js";
import { createFace, type Face } from "../../../../src/runtime/workers/face/face.js";
import { answerCalls, IpcCalls, type LinkEnd } from "../../../../src/runtime/workers/link/ipc-calls.js";
import type { RemoteCalls } from "../../../../src/runtime/workers/link/remote-calls.js";
import { type CollectingExporter, collectingExporter } from "../../../support/collecting-exporter.js";
import { cleanUp, type FedAgent, startFed } from "../../../support/fed-agent.js";
import { logs } from "../../../support/telemetry/batches.js";

export { cleanUp };

/** Agents with real queues, each in its own directory, behind one face. */
export interface Group {
  readonly face: Face;
  readonly workers: readonly GroupWorker[];
  /** Makes a dead letter in a worker, of the exporter `collect`. */
  deadLetter(worker: number, text: string): Promise<void>;
  /** The workers' own state, read from each worker. */
  union(query?: object): Promise<Entry[]>;
}

export interface GroupWorker extends Pick<FedAgent, "agent" | "hand"> {
  readonly exporter: CollectingExporter;
  /** Undefined while it is cut off. */
  calls(): RemoteCalls | undefined;
  /** Cuts the connection, as when the process ends. */
  cut(): Promise<void>;
  /** Connects it again. */
  connect(): void;
  /** Stops it, and starts it again with the same queues. */
  restart(): Promise<void>;
}

/** A receiver that receives nothing. */
const never = defineReceiver({
  ...{ type: "never", summary: "test", signals: SIGNALS, schema: z.strictObject({}) },
  create: () => ({ start: async () => {}, stop: async () => {} }),
});

/** Only worker 1 has the exporter `collect/one`. */
const configOf = (worker: number) => `
exporters:
  collect: {sending_queue: {batch: null}, replay: {rate: 1000}}
  collect/${worker === 1 ? "one" : "other"}: {sending_queue: {batch: null}, replay: {rate: 1000}}
service:
  extensions: [reliability]
  pipelines:
    logs: {receivers: [hand], exporters: [collect]}
    logs/never: {receivers: [never], exporters: [collect/${worker === 1 ? "one" : "other"}]}
    traces: {receivers: [hand], exporters: [collect/${worker === 1 ? "one" : "other"}]}
`;

export async function startGroup(count: number): Promise<Group> {
  const workers = await Promise.all(Array.from({ length: count }, (_, index) => startWorker(index + 1)));
  const face = createFace({
    workers: () => workers.map(({ calls, number }) => ({ worker: number, calls: calls() })),
    description: () => workers[0]!.agent.inspection,
    clock: systemClock,
    logger: silentLogger,
  });
  return {
    face,
    workers,
    async deadLetter(worker, text) {
      const { hand, exporter, agent } = workers[worker - 1]!;
      const dead = () => agent.admin!.exporters().reduce((sum, { deadLetters }) => sum + deadLetters.entries, 0);
      const before = dead();
      exporter.refuse(new Refusal("permanent", `cannot take ${text}`));
      await hand(logs(text));
      while (dead() === before) await new Promise((resolve) => setTimeout(resolve, 2));
      exporter.refuse(undefined);
    },
    async union(query = {}) {
      const found: Entry[] = [];
      for (const { agent } of workers)
        found.push(...(await agent.admin!.listDeadLetters({ limit: 1000, ...query })).entries);
      return found;
    },
  };
}

async function startWorker(number: number) {
  const exporter = collectingExporter();
  const start = (options: { readonly directory?: string } = {}) =>
    startFed(
      (directory) =>
        `extensions: {reliability: {directory: ${JSON.stringify(directory)}, durability: process}}\n${configOf(number)}`,
      { components: [exporter.factory, never], receivers: { never: {} }, ...options },
    );
  let fed = await start();
  const methods = adminMethods(
    () => fed.agent.admin,
    () => fed.agent.inspection,
    () => fed.agent.receivers?.() ?? [],
  );
  let calls: RemoteCalls | undefined;
  let cut = async () => {};
  const connect = () => {
    const { port1, port2 } = new MessageChannel();
    answerCalls(endOf(port2), methods);
    calls = new IpcCalls(endOf(port1), number);
    const closed = new Promise<void>((resolve) => void port1.once("close", () => resolve()));
    cut = () => {
      port2.close();
      return closed;
    };
    port1.unref();
    port2.unref();
  };
  connect();
  return {
    ...{ number, exporter, calls: () => calls, connect, cut: () => cut() },
    get agent() {
      return fed.agent;
    },
    hand: (...given: Parameters<FedAgent["hand"]>) => fed.hand(...given),
    async restart() {
      await cut();
      await fed.agent.stop(1000);
      fed = await start({ directory: fed.directory });
      connect();
    },
  };
}

function endOf(port: MessageChannel["port1"]): LinkEnd {
  return {
    send: (message) => port.postMessage(message),
    onMessage: (listener) => void port.on("message", listener),
    onGone: (listener) => void port.on("close", listener),
  };
}
