import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { Batch } from "../../../../../src/plugin.js";
import { GRPC_STATUS } from "../../../../../src/runtime/net/otlp/grpc-status.js";
import { GrpcJsServer } from "../../../../exporters/grpc-server.js";
import { bodies } from "../../../../support/telemetry/batches.js";
import { cleanUp, startWrapped, type WrappedAgent } from "../../agent.js";

afterEach(cleanUp);

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const POISON: Record<string, Answer> = {
  "resets the connection": (request) => request.socket.resetAndDestroy(),
  "gets no answer": () => {},
  "is answered 200 with garbage": (_request, response) =>
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end("\xff\xff garbage"),
  "is answered 200 with a body that breaks off": (request, response) => {
    response.writeHead(200, { "content-type": "application/x-protobuf", "content-length": "100" }).write("x");
    setImmediate(() => request.socket.destroy());
  },
};

/** A backend that answers requests with a record called "poison" like this, and takes all others. */
async function startBackend(answer: Answer, isPoison = (texts: readonly string[]) => texts.includes("poison")) {
  const taken: string[] = [];
  let poisonCalls = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("error", () => {});
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      const texts = body.length === 0 ? [] : bodies(Batch.admit("logs", body));
      if (isPoison(texts)) {
        poisonCalls += 1;
        return answer(request, response);
      }
      taken.push(...texts);
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, taken, poisonCalls: () => poisonCalls };
}

const QUICK = `retry_on_failure: {initial_interval: 50ms, max_interval: 200ms}
    circuit_breaker: {reset_timeout: 20ms}`;

async function deadLetters({ agent }: WrappedAgent) {
  const { entries } = await agent.admin!.listDeadLetters({});
  return entries.map(({ items, failure }) => ({ items, reason: failure?.reason, blame: failure?.error.blame }));
}

const IS_POISON = { items: 1, reason: "poison", blame: "entry" };

/** Sends good records until there is a dead letter. Returns how many. */
async function sendUntilDead(wrapped: WrappedAgent): Promise<number> {
  let sent = 0;
  while ((await deadLetters(wrapped)).length === 0)
    expect(await wrapped.send(`good ${sent++}`)).toMatchObject({ ok: true });
  return sent;
}

describe.each(Object.entries(POISON))("over HTTP, an entry that %s", (_what, answer) => {
  it.each([
    [1, false],
    [10, false],
    [10, true],
  ])(
    "is a dead letter, and every other entry is delivered once, with %i consumers and merging: %s",
    async (n, merges) => {
      const backend = await startBackend(answer);
      const wrapped = await startWrapped(`
  otlp_http:
    endpoint: ${backend.url}
    compression: none
    timeout: 300ms
    sending_queue: {num_consumers: ${n}, merge_backlog: ${merges}}
    ${QUICK}`);
      await wrapped.send("before");
      await wrapped.send("poison");
      const sent = await sendUntilDead(wrapped);
      expect(await deadLetters(wrapped)).toEqual([IS_POISON]);
      await expect.poll(() => backend.taken.length).toBe(sent + 1);
      expect(new Set(backend.taken).size).toBe(sent + 1);
      await expect.poll(() => wrapped.agent.admin!.exporters()[0]?.queue.entries).toBe(0);
    },
  );
});

describe("one bad replica in five", () => {
  it("makes no dead letter of entries that meet it by chance", async () => {
    let calls = 0;
    const backend = await startBackend(POISON["resets the connection"]!, () => ++calls % 5 === 0);
    const wrapped = await startWrapped(`
  otlp_http:
    endpoint: ${backend.url}
    compression: none
    sending_queue: {merge_backlog: false}
    ${QUICK}`);
    for (let i = 0; i < 300; i++) await wrapped.send(`good ${i}`);
    await expect.poll(() => new Set(backend.taken).size).toBe(300);
    expect(backend.poisonCalls()).toBeGreaterThan(50);
    expect(await deadLetters(wrapped)).toEqual([]);
  });
});

describe("over gRPC, an entry that", () => {
  it.each(["is answered UNAVAILABLE", "gets no answer"])(
    "%s is a dead letter while others get through",
    async (what) => {
      const server = await new GrpcJsServer().start();
      onTestFinished(() => server.kill());
      const taken: string[] = [];
      server.respond = (done, { request }) => {
        const texts = request.length === 0 ? [] : bodies(Batch.admit("logs", request));
        if (texts.includes("poison")) {
          if (what.includes("UNAVAILABLE")) done({ code: GRPC_STATUS.UNAVAILABLE, details: "upstream connect error" });
          return;
        }
        taken.push(...texts);
        done(null, Buffer.alloc(0));
      };
      const wrapped = await startWrapped(`
  otlp_grpc:
    endpoint: 127.0.0.1:${server.port}
    tls: {insecure: true}
    compression: none
    timeout: 300ms
    ${QUICK}`);
      await wrapped.send("poison");
      const sent = await sendUntilDead(wrapped);
      expect(await deadLetters(wrapped)).toEqual([IS_POISON]);
      await expect.poll(() => new Set(taken).size).toBe(sent);
    },
  );
});
