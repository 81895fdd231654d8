import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { connect } from "node:net";
import { OtlpReceiver } from "../../../src/receivers/otlp/component.js";
import { otlpReceiverSchema } from "../../../src/receivers/otlp/config.js";
import type { Authenticators, ServerAuthenticator } from "../../../src/runtime/contract/auth.js";
import { type Clock, systemClock } from "../../../src/runtime/contract/clock.js";
import type { Intake, ReceiverContext } from "../../../src/runtime/contract/component.js";
import { ACCEPTED, type Outcome } from "../../../src/runtime/contract/debt.js";
import type { Origin } from "../../../src/runtime/contract/delivery.js";
import { type Metrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import type { Batch } from "../../../src/runtime/otlp/batch.js";
import { SIGNALS, type Signal } from "../../../src/runtime/otlp/signals/signal.js";

/** An intake that remembers what it got and answers as told. */
export class FakeIntake implements Intake {
  readonly batches: Batch[] = [];
  readonly origins: (Partial<Origin> | undefined)[] = [];
  reserved = 0;
  mostReserved = 0;
  room = Number.POSITIVE_INFINITY;
  answer: (batch: Batch) => Outcome | Promise<Outcome> = () => ACCEPTED;

  async accept(batch: Batch, origin?: Partial<Origin>): Promise<Outcome> {
    this.batches.push(batch);
    this.origins.push(origin);
    return this.answer(batch);
  }

  reserve(bytes: number): boolean {
    if (this.reserved + bytes > this.room) return false;
    this.reserved += bytes;
    this.mostReserved = Math.max(this.mostReserved, this.reserved);
    return true;
  }

  release(bytes: number): void {
    this.reserved -= bytes;
  }

  get records(): number {
    return this.batches.reduce((sum, batch) => sum + batch.count, 0);
  }
}

/** Sums of counters by `name{attributes}`. */
export class FakeMetrics implements Metrics {
  readonly sums = new Map<string, number>();

  counter(name: string, _: unknown, attributes: Readonly<Record<string, string>> = {}) {
    const key = `${name}{${Object.values(attributes).join(",")}}`;
    return { add: (value: number) => void this.sums.set(key, (this.sums.get(key) ?? 0) + value) };
  }

  gauge() {
    return () => {};
  }

  histogram() {
    return { record() {} };
  }
}

export interface Running {
  readonly receiver: OtlpReceiver;
  readonly intakes: Record<Signal, FakeIntake>;
  readonly metrics: FakeMetrics;
  readonly http: number;
  readonly grpc: number;
}

function authenticatorsOf(server: ServerAuthenticator): Authenticators {
  const client = () => {
    throw new Error("there is none");
  };
  return { server: () => server, client };
}

export async function startReceiver(
  protocols: Record<string, unknown>,
  signals: readonly Signal[] = SIGNALS,
  clock: Clock = systemClock,
  authenticator?: ServerAuthenticator,
): Promise<Running> {
  const intakes = { logs: new FakeIntake(), traces: new FakeIntake(), metrics: new FakeIntake() };
  const metrics = new FakeMetrics();
  const context: ReceiverContext = {
    id: "otlp",
    kind: "receiver",
    logger: silentLogger,
    metrics,
    clock,
    random: () => 0.5,
    intakes: Object.fromEntries(signals.map((signal) => [signal, intakes[signal]])),
    ...(authenticator && { authenticators: authenticatorsOf(authenticator) }),
  };
  const receiver = new OtlpReceiver(otlpReceiverSchema.parse({ protocols }), context);
  await receiver.start();
  return { receiver, intakes, metrics, http: receiver.ports.http ?? 0, grpc: receiver.ports.grpc ?? 0 };
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export const PROTO = { "content-type": "application/x-protobuf" };
export const JSON_HEADERS = { "content-type": "application/json" };

export function post(
  port: number,
  path: string,
  body: Uint8Array | string,
  headers: Record<string, string> = PROTO,
  options: { method?: string; agent?: Agent } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const method = options.method ?? "POST";
    const agent = options.agent ?? new Agent();
    const sent = request({ port, host: "127.0.0.1", path, method, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Writes raw bytes to the port and gives all that comes back until the connection ends. */
export function raw(port: number, ...pieces: (string | Uint8Array)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
    socket.on("error", reject);
    for (const piece of pieces) socket.write(piece);
  });
}

/** The same, for a client that goes away once it has seen the beginning of an answer. */
export function rawHead(port: number, ...pieces: (string | Uint8Array)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", reject);
    socket.once("data", (chunk) => {
      resolve(chunk.toString("latin1"));
      socket.destroy();
    });
    for (const piece of pieces) socket.write(piece);
  });
}

/** Resolves when `condition` holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
