import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Signal } from "../../../src/plugin.js";
import { batchToJson } from "../../../src/plugin.js";
import { logBatch, spanBatch, traceId } from "../../support/sampled.js";
import type { Dice } from "../../support/telemetry/wire-forms.js";
import { type Answer, type Clients, post, RETRYABLE } from "../client.js";
import { markOf } from "../numbered.js";
import type { Victim } from "../victim.js";
import { GrpcSender } from "./grpc.js";
import type { Ways } from "./ways.js";

export type Transport = "http" | "json" | "grpc";

const PADDING = "a record of ordinary length ".repeat(4);
const MAX_RECORDS = 20;
const PAUSE_MS = 10;

export interface Load {
  readonly victim: Victim;
  readonly dice: Dice;
  readonly logs: Ways;
  readonly spans: Ways;
}

/** Clients of both signals over each transport, which send again what was refused or not answered. */
export function startMixedClients(load: Load): Clients {
  const state = { sending: true, refusals: 0 };
  const agent = new Agent({ keepAlive: true });
  const grpc = new GrpcSender();
  const clients = (["http", "json", "grpc"] as const).flatMap((transport) =>
    (["logs", "traces"] as const).flatMap((signal) => [
      sendAll(load, signal, (numbers) => sendOver(transport, load.victim, signal, numbers, agent, grpc), state),
      sendAll(load, signal, (numbers) => sendOver(transport, load.victim, signal, numbers, agent, grpc), state),
    ]),
  );
  return {
    async stop() {
      state.sending = false;
      await Promise.all(clients);
      agent.destroy();
      grpc.close();
    },
    get refusals() {
      return state.refusals;
    },
  };
}

async function sendAll(
  { dice, logs, spans }: Load,
  signal: "logs" | "traces",
  send: (numbers: readonly number[]) => Promise<Answer>,
  state: { sending: boolean; refusals: number },
): Promise<void> {
  const ways = signal === "logs" ? logs : spans;
  let numbers: number[] = [];
  while (state.sending) {
    if (numbers.length === 0) numbers = ways.take(1 + dice.upTo(MAX_RECORDS - 1));
    const answer = await send(numbers);
    if (typeof answer === "string") {
      if (answer === "unknown") ways.loseSight(numbers);
      await delay(PAUSE_MS);
    } else if (answer.status === 200) {
      ways.acknowledge(numbers);
      numbers = [];
      await delay(PAUSE_MS);
    } else if (RETRYABLE.has(answer.status)) {
      state.refusals++;
      // Part of it may have been taken: by one exporter of several, or by a connector.
      ways.loseSight(numbers);
      await delay(PAUSE_MS);
    } else {
      ways.reject(numbers, `${answer.status} ${answer.body.toString("latin1")}`);
      numbers = [];
    }
  }
}

async function sendOver(
  transport: Transport,
  victim: Victim,
  signal: "logs" | "traces",
  numbers: readonly number[],
  agent: Agent,
  grpc: GrpcSender,
): Promise<Answer> {
  const batch = signal === "logs" ? logsOf(numbers) : spansOf(numbers);
  const port = transport === "grpc" ? victim.grpcPort : victim.port;
  if (port === undefined) return "not sent";
  if (transport === "grpc") return grpc.post(port, batch.bytes, signal);
  return transport === "http"
    ? post(port, agent, batch.bytes, signal)
    : postJson(port, agent, batchToJson(batch), signal);
}

function logsOf(numbers: readonly number[]) {
  return logBatch(
    numbers.map((number) => ({ body: `${markOf(number)} ${PADDING}`, attributes: { chaos: `n${number}` } })),
  );
}

function spansOf(numbers: readonly number[]) {
  const trace = traceId(numbers[0]!);
  return spanBatch(
    numbers.map((number) => ({
      trace,
      span: (number + 1).toString(16).padStart(16, "0"),
      name: markOf(number),
      attributes: { chaos: `n${number}` },
    })),
  );
}

function postJson(port: number, agent: Agent, text: string, signal: Signal): Promise<Answer> {
  return new Promise((resolve) => {
    const outgoing = request(
      {
        host: "127.0.0.1",
        port,
        path: `/v1/${signal}`,
        method: "POST",
        agent,
        headers: { "content-type": "application/json" },
      },
      (response) => {
        response.on("error", () => resolve("unknown")).on("data", () => {});
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.alloc(0), retryAfterMs: PAUSE_MS }),
        );
      },
    );
    outgoing.setTimeout(10_000, () => outgoing.destroy());
    outgoing.on("error", (error) =>
      resolve((error as { code?: string }).code === "ECONNREFUSED" ? "not sent" : "unknown"),
    );
    outgoing.end(text);
  });
}
