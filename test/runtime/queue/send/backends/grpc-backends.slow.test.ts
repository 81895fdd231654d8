import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { GRPC_STATUS } from "../../../../../src/runtime/net/otlp/grpc-status.js";
import { Batch } from "../../../../../src/runtime/otlp/batch.js";
import { GrpcJsServer } from "../../../../exporters/grpc-server.js";
import { bodies } from "../../../../support/telemetry/batches.js";
import { cleanUp, startWrapped, type WrappedAgent } from "../../agent.js";

let server: GrpcJsServer;
beforeEach(async () => {
  server = await new GrpcJsServer().start();
});
afterEach(async () => {
  await cleanUp();
  server.kill();
});

const exporterTo = (port: number, more = "") => `
  otlp_grpc:
    endpoint: 127.0.0.1:${port}
    tls: {insecure: true}
    compression: none
    circuit_breaker: {reset_timeout: 10ms}
    retry_on_failure: {initial_interval: 1ms, max_interval: 10ms${more}}`;

const bodiesOf = (body: Buffer) => bodies(Batch.admit("logs", body));

/** Refuses requests with a record called "bad" in them; gives the records of those that it took. */
function refuseBad(code: number): string[] {
  const taken: string[] = [];
  server.respond = (done, { request }) => {
    const found = bodiesOf(request);
    if (found.includes("bad")) return done({ code, details: "a bad record" });
    taken.push(...found);
    done(null, Buffer.alloc(0));
  };
  return taken;
}

const callsWithBad = () => server.received.filter(({ body }) => bodiesOf(body).includes("bad")).length;

async function deadLetters({ agent }: WrappedAgent) {
  const { entries } = await agent.admin!.listDeadLetters({});
  return entries.map(({ attempts, calls, items, failure }) => {
    const { rule, error, category } = failure!;
    return { attempts, calls, items, rule, category, class: error.class, blame: error.blame };
  });
}

const REFUSED = { attempts: 1, items: 1, rule: "permanent_refusal", category: "schema", blame: undefined };

describe.each(["UNKNOWN", "INTERNAL", "FAILED_PRECONDITION", "INVALID_ARGUMENT"] as const)("gRPC %s", (name) => {
  it("about a lone record makes a dead letter of it after one call", async () => {
    refuseBad(GRPC_STATUS[name]);
    const wrapped = await startWrapped(exporterTo(server.port));
    await wrapped.send("bad");
    await expect.poll(() => deadLetters(wrapped)).toEqual([{ ...REFUSED, calls: 1, class: name }]);
    expect(callsWithBad()).toBe(1);
  });

  it("about one of several records takes only that one", async () => {
    const taken = refuseBad(GRPC_STATUS[name]);
    const wrapped = await startWrapped(exporterTo(server.port));
    await wrapped.send("r0", "r1", "r2", "bad", "r4", "r5", "r6", "r7");
    await expect.poll(() => deadLetters(wrapped)).toEqual([{ ...REFUSED, calls: 1, class: name }]);
    await expect.poll(() => taken.sort()).toEqual(["r0", "r1", "r2", "r4", "r5", "r6", "r7"]);
    // Eight records, four, two, one.
    expect(callsWithBad()).toBe(4);
  });

  it("spends attempts where retry_on names it, and ends in a dead letter after max_retries", async () => {
    refuseBad(GRPC_STATUS[name]);
    const wrapped = await startWrapped(exporterTo(server.port, `, retry_on: [${name}]`));
    await wrapped.send("bad");
    const given = { attempts: 6, calls: 6, items: 1, rule: "max_retries", class: name, blame: "entry" };
    await expect.poll(() => deadLetters(wrapped)).toMatchObject([given]);
    expect(callsWithBad()).toBe(6);
  });
});

describe("a lone record that gRPC may take later", () => {
  it.each(["ABORTED", "OUT_OF_RANGE", "DATA_LOSS"] as const)("spends attempts: %s", async (name) => {
    refuseBad(GRPC_STATUS[name]);
    const wrapped = await startWrapped(exporterTo(server.port));
    await wrapped.send("bad");
    const given = { attempts: 6, calls: 6, rule: "max_retries", class: name, blame: "entry" };
    await expect.poll(() => deadLetters(wrapped)).toMatchObject([given]);
  });

  it.each(["UNAVAILABLE", "CANCELLED", "DEADLINE_EXCEEDED"] as const)("spends none: %s", async (name) => {
    refuseBad(GRPC_STATUS[name]);
    const wrapped = await startWrapped(exporterTo(server.port));
    await wrapped.send("bad");
    await expect.poll(callsWithBad).toBeGreaterThan(8);
    expect(await deadLetters(wrapped)).toEqual([]);
    server.respond = (done) => done(null, Buffer.alloc(0));
    await expect.poll(() => wrapped.agent.admin!.exporters()[0]?.queue.entries).toBe(0);
  });
});

describe("a proxy that answers gRPC in plain HTTP", () => {
  it.each([302, 402, 405, 407, 410, 415])("holds the queue: %i", async (status) => {
    let isBroken = true;
    const taken: string[] = [];
    const proxy = createServer();
    proxy.on("stream", (stream) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", () => {});
      stream.on("end", () => {
        if (isBroken) return stream.respond({ ":status": status, "content-type": "text/html" }, { endStream: true });
        taken.push(...bodiesOf(Buffer.concat(chunks).subarray(5)));
        stream.respond({ "content-type": "application/grpc", "grpc-status": "0" }, { endStream: true });
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void proxy.close());
    const wrapped = await startWrapped(exporterTo((proxy.address() as AddressInfo).port));
    for (const body of ["r0", "r1", "r2"]) await wrapped.send(body);
    await expect.poll(() => wrapped.agent.admin!.exporters()[0]?.refused?.message ?? "").toContain(`HTTP ${status}`);
    isBroken = false;
    wrapped.agent.admin!.retryNow("otlp_grpc");
    await expect.poll(() => taken.sort()).toEqual(["r0", "r1", "r2"]);
    expect(await deadLetters(wrapped)).toEqual([]);
  });
});
