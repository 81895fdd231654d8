import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cleanUp, type FedAgent, startFed } from "../../../support/fed-agent.js";
import { type OtlpSink, startSink } from "../../../support/otlp-sink.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";

let sink: OtlpSink;
beforeEach(async () => {
  sink = await startSink();
});
afterEach(async () => {
  await cleanUp();
  await sink.close();
});

const SECRET = "Bearer s3cr3t-of-a-client";

interface Options {
  readonly headers?: string;
  readonly queue?: string;
  readonly directory?: string;
}

function start({ headers = "{key: X-Scope, from_context: tenant}", queue = "", ...options }: Options = {}) {
  const yaml = (directory: string) => `
processors: {batch: {send_batch_size: 1000, timeout: 20ms}}
exporters:
  otlp_http:
    endpoint: ${sink.url}
    auth: {authenticator: headers_setter}
    retry_on_failure: {initial_interval: 5ms, max_interval: 10ms, max_retries: 1000000}
    circuit_breaker: {enabled: false}
    sending_queue: {num_consumers: 1, batch: {min_size: 1000, flush_timeout: 20ms}${queue}}
extensions:
  reliability: {directory: ${JSON.stringify(directory)}}
  headers_setter: {headers: [${headers}]}
service:
  extensions: [reliability, headers_setter]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [hand], processors: [batch], exporters: [otlp_http]}}
`;
  return startFed(yaml, options);
}

const hand = async ({ hand: give }: FedAgent, tenant: string, ...texts: string[]) => {
  const metadata = new Map([
    ["tenant", [tenant]],
    ["authorization", [SECRET]],
  ]);
  return give(logs(...texts), { metadata });
};

/** The records received under each value of the header, in accepted requests. */
function taken(name = "x-scope"): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  const requests = sink.requests.slice(-sink.batches.length);
  for (const [index, batch] of sink.batches.entries()) {
    const tenant = String(requests[index]!.headers[name]);
    found[tenant] = [...(found[tenant] ?? []), ...bodies(batch)].sort();
  }
  return found;
}

function bytesBelow(directory: string): string {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, "latin1"))
    .join("\n");
}

describe("headers from the client", () => {
  it("belong to the records they are sent with, also when waiting batches are merged", async () => {
    sink.decide(() => 503);
    const agent = await start();
    for (const index of [1, 2, 3]) {
      await hand(agent, "acme", `a${index}`);
      await hand(agent, "globex", `g${index}`);
    }
    await expect.poll(() => sink.requests.length).toBeGreaterThan(1);
    sink.requests.length = 0;
    sink.decide(() => 200);
    await expect.poll(() => sink.count).toBe(6);
    expect(taken()).toEqual({ acme: ["a1", "a2", "a3"], globex: ["g1", "g2", "g3"] });
  });

  it("are kept over a restart, and nothing else of the client's headers is", async () => {
    sink.decide(() => 503);
    const before = await start();
    await hand(before, "acme", "a1");
    await hand(before, "globex", "g1");
    await before.agent.stop(0);
    expect(bytesBelow(before.directory)).toContain("acme");
    expect(bytesBelow(before.directory)).not.toContain(SECRET);
    sink.requests.length = 0;
    sink.decide(() => 200);
    await start({ directory: before.directory });
    await expect.poll(() => sink.count).toBe(2);
    expect(taken()).toEqual({ acme: ["a1"], globex: ["g1"] });
  });

  it("may be credentials if they are named; those are neither exported nor shown", async () => {
    sink.respond((_, response) => response.writeHead(400).end("no"));
    const agent = await start({
      headers: "{key: Authorization, from_context: authorization}, {key: X-Scope, from_context: tenant}",
    });
    await hand(agent, "acme", "a1");
    const admin = () => agent.agent.admin!;
    await expect.poll(async () => (await admin().listDeadLetters({})).entries.length).toBe(1);
    expect(sink.requests[0]!.headers).toMatchObject({ authorization: SECRET, "x-scope": "acme" });
    const { entries } = await admin().listDeadLetters({});
    const lines: string[] = [];
    for await (const line of admin().exportDeadLetters({})) lines.push(line);
    for await (const line of admin().exportDeadLetters({}, { reveal: true })) lines.push(line);
    const shown = JSON.stringify([entries, await admin().deadLetter(entries[0]!.id), admin().exporters(), lines]);
    expect(shown).not.toContain(SECRET);
    expect(lines[1]).toContain('"tenant":["acme"]');
  });

  it("are sent again with a replayed dead letter, and with parts of a refused batch", async () => {
    const isBad = { now: true };
    sink.respond((request, response) => {
      const scope = request.headers["x-scope"];
      response.writeHead(isBad.now || scope !== "acme" ? 400 : 200).end();
    });
    const agent = await start();
    await hand(agent, "acme", "good", "bad");
    const admin = agent.agent.admin!;
    await expect.poll(async () => (await admin.listDeadLetters({})).entries.length).toBe(2);
    expect(new Set(sink.requests.map(({ headers }) => headers["x-scope"]))).toEqual(new Set(["acme"]));
    isBad.now = false;
    sink.requests.length = 0;
    await admin.replay({ query: {} }, { by: "test" });
    await expect.poll(() => sink.requests.length).toBe(2);
    expect(sink.requests.map(({ headers }) => headers["x-scope"])).toEqual(["acme", "acme"]);
    await expect.poll(async () => (await admin.listDeadLetters({})).entries.length).toBe(0);
  });

  it("are sent without a queue too, when batches are merged while the exporter is busy", async () => {
    const agent = await start({ queue: ", enabled: false" });
    const texts = Array.from("abcdefgh");
    await Promise.all(texts.flatMap((text) => [hand(agent, "acme", `a${text}`), hand(agent, "globex", `g${text}`)]));
    expect(taken()).toEqual({ acme: texts.map((text) => `a${text}`), globex: texts.map((text) => `g${text}`) });
    expect(sink.batches.length).toBeLessThan(2 * texts.length);
  });

  it("are refused if they are too long to be kept", async () => {
    const agent = await start();
    expect(await hand(agent, "x".repeat(9000), "a1")).toMatchObject({ ok: false, refusal: { kind: "permanent" } });
    expect(await hand(agent, "x".repeat(8000), "a2")).toMatchObject({ ok: true });
  });
});
