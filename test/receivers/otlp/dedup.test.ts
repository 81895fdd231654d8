import { afterEach, describe, expect, it } from "vitest";
import { type Outcome, Refusal } from "../../../src/plugin.js";
import { Dedup } from "../../../src/receivers/otlp/dedup.js";
import type { Agent } from "../../../src/runtime/host/agent.js";
import { agentOf } from "../../support/agent.js";
import { FakeClock } from "../../support/fake-clock.js";
import { startSink } from "../../support/otlp-sink.js";
import { bodies, logs } from "../../support/telemetry/batches.js";

const OK: Outcome = { ok: true, rejected: 0, message: "" };
const NO: Outcome = { ok: false, refusal: new Refusal("transient", "no") };

function dedup(own: { max_entries?: number; ttl?: number } = {}) {
  const clock = new FakeClock();
  const duplicates = { count: 0, add: (n: number) => void (duplicates.count += n) };
  return { clock, duplicates, it: new Dedup({ max_entries: 10, ttl: 1000, ...own }, clock, duplicates) };
}

/** Counts how often it is taken. */
function taking(...outcomes: Outcome[]) {
  const take = async () => outcomes[Math.min(take.count++, outcomes.length - 1)]!;
  take.count = 0;
  return take;
}

describe("deduplication", () => {
  it("takes a key once, and answers the second time without taking it", async () => {
    const { it, duplicates } = dedup();
    const take = taking(OK);
    expect([await it.accept("a", take), await it.accept("a", take)]).toEqual([OK, OK]);
    expect([take.count, duplicates.count]).toEqual([1, 1]);
    await it.accept("b", take);
    expect(take.count).toBe(2);
  });

  it.each<[string, Outcome]>([
    ["refused", NO],
    ["rejected in part", { ok: true, rejected: 1, message: "old" }],
  ])("does not remember what was %s", async (_what, first) => {
    const { it } = dedup();
    const take = taking(first, OK);
    expect([await it.accept("a", take), await it.accept("a", take)]).toEqual([first, OK]);
    expect(take.count).toBe(2);
  });

  it("lets a second one wait for the first, and takes it if the first was refused", async () => {
    for (const [first, taken] of [
      [OK, 1],
      [NO, 2],
    ] as const) {
      const { it } = dedup();
      const take = taking(first, OK);
      const outcomes = await Promise.all([it.accept("a", take), it.accept("a", take), it.accept("a", take)]);
      expect(take.count).toBe(taken);
      expect(outcomes.slice(1)).toEqual([OK, OK]);
    }
  });

  it("forgets after its time, and the oldest beyond its number", async () => {
    const { it, clock } = dedup({ max_entries: 2 });
    const take = taking(OK);
    for (const key of ["a", "b", "c", "a"]) await it.accept(key, take);
    expect(take.count).toBe(4);
    clock.advance(1000);
    await it.accept("a", take);
    expect(take.count).toBe(5);
  });
});

describe("an OTLP receiver that deduplicates", () => {
  const agents: Agent[] = [];
  afterEach(async () => {
    await Promise.all(agents.splice(0).map((agent) => agent.stop(0)));
  });

  it.each([
    ["", 1],
    ["enabled: true", 1],
    ["enabled: false", 2],
  ])("with dedup: {%s} takes a request with a known key %i time(s)", async (dedup, times) => {
    const sink = await startSink();
    let address = "";
    const logger = {
      debug() {},
      info(fields: object) {
        if ("http" in fields) address = String(fields.http);
      },
      warn() {},
      error() {},
      child: () => logger,
    };
    const agent = agentOf(
      `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}, dedup: {${dedup}}}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}
`,
      { logger },
    );
    agents.push(agent);
    await agent.start();
    for (let i = 0; i < 2; i++) {
      const response = await fetch(`http://${address}/v1/logs`, {
        method: "POST",
        headers: { "content-type": "application/x-protobuf", "sluice-idempotency-key": "k-1" },
        body: new Uint8Array(logs("a").bytes),
      });
      expect(response.status).toBe(200);
    }
    expect(sink.batches.flatMap(bodies)).toEqual(Array(times).fill("a"));
    await sink.close();
  });
});
