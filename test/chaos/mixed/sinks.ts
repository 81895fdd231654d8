import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Batch } from "../../../src/plugin.js";
import { GRPC_STATUS } from "../../../src/runtime/net/otlp/grpc-status.js";
import { decodeTree, type Tree } from "../../../src/runtime/otlp/json/tree.js";
import { listOf, recordsOf } from "../../support/telemetry/trees.js";
import type { FaultySink, Mood } from "../faulty-sink.js";
import { decodeNumbers } from "../numbered.js";
import { startGrpcBackend } from "./grpc.js";
import type { Ways } from "./ways.js";

const SLOW_MS = 40;

/** Takes a request; returns false when the backend refuses it for good. */
type Keep = (body: Buffer) => boolean;

/** Backends with one mood, which know a request again by its idempotency key and keep it once. */
export class Backends implements FaultySink {
  readonly url = "";
  readonly port = 0;
  mood: Mood = "ok";
  requests = 0;
  /** Requests that came again after they had been kept. */
  repeated = 0;
  private readonly closers: (() => Promise<void>)[] = [];

  async http(keep: Keep): Promise<string> {
    const seen = new Set<string>();
    const server = createServer((request, response) => void this.answerHttp(request, response, keep, seen));
    server.keepAliveTimeout = 0;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.closers.push(
      () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    );
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async grpc(keep: Keep): Promise<string> {
    const seen = new Set<string>();
    const backend = await startGrpcBackend(async ({ body, key }) => {
      const status = await this.react(body, key, keep, seen);
      if (status === undefined) return undefined;
      return { code: { 200: GRPC_STATUS.OK, 400: GRPC_STATUS.INVALID_ARGUMENT }[status] ?? GRPC_STATUS.UNAVAILABLE };
    });
    this.closers.push(backend.close);
    return `127.0.0.1:${backend.port}`;
  }

  async close(): Promise<void> {
    await Promise.all(this.closers.map((close) => close()));
  }

  private async answerHttp(request: IncomingMessage, response: ServerResponse, keep: Keep, seen: Set<string>) {
    const chunks: Buffer[] = [];
    request.on("error", () => {});
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // the agent was killed in the middle of it
    }
    const key = request.headers["sluice-idempotency-key"] as string | undefined;
    const status = await this.react(Buffer.concat(chunks), key, keep, seen);
    if (request.socket.destroyed) return;
    if (status === undefined) request.socket.destroy();
    else response.writeHead(status, { "content-type": "application/x-protobuf", "retry-after": "0" }).end();
  }

  /** The status to answer with; undefined for none. */
  private async react(
    body: Buffer,
    key: string | undefined,
    keep: Keep,
    seen: Set<string>,
  ): Promise<number | undefined> {
    this.requests++;
    const { mood } = this;
    if (mood === "slow") await delay(SLOW_MS);
    if (mood === "hangs") await delay(1000);
    if (mood === "hangs" || mood === "resets") return undefined;
    if (mood === "unavailable") return 503;
    if (mood === "throttled") return 429;
    const status = this.keepOnce(body, key, keep, seen);
    return mood === "forgets to answer" && status === 200 ? undefined : status;
  }

  private keepOnce(body: Buffer, key: string | undefined, keep: Keep, seen: Set<string>): number {
    if (key !== undefined && seen.has(key)) {
      this.repeated++;
      return 200;
    }
    if (!keep(body)) return 400;
    if (key !== undefined) seen.add(key);
    return 200;
  }
}

/** Keeps records by the numbers in them, and refuses requests with a bad one as a whole. */
export function keepNumbers(ways: Ways, name: string): Keep {
  const { book, isBad } = ways.all.find((way) => way.name === name)!;
  return (body) => {
    const numbers = decodeNumbers(body);
    if (numbers.some(isBad)) return false;
    book.arrive(numbers);
    return true;
  };
}

/** Keeps what connectors have counted, by metric: each point has the number of a record, and how often it was counted. */
export function keepCounts(byMetric: Readonly<Record<string, (numbers: readonly number[]) => void>>): Keep {
  return (body) => {
    for (const { metric, record } of recordsOf("metrics", decodeTree(Batch.admit("metrics", body)))) {
      const arrive = byMetric[String(metric?.["name"])];
      const number = arrive && numberOf(record);
      if (number !== undefined) arrive!(Array.from({ length: Number(record["asInt"]) }, () => number));
    }
    return true;
  };
}

function numberOf(point: Tree): number | undefined {
  for (const { value } of listOf(point, "attributes")) {
    const found = /^(?:chaos#|n)(\d+)$/.exec(String((value as Tree)["stringValue"]));
    if (found !== null) return Number(found[1]);
  }
  return undefined;
}
