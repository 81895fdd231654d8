import { afterEach, describe, expect, it } from "vitest";
import { type Outcome, Refusal } from "../../src/plugin.js";
import { batch } from "../../src/processors/batch.js";
import { directOutlet } from "../../src/runtime/contract/calls/direct-outlet.js";
import { noMetrics, silentLogger } from "../../src/runtime/contract/observability.js";
import { owed } from "../support/deliveries.js";
import { FakeClock } from "../support/fake-clock.js";
import { cleanUp, startFed } from "../support/fed-agent.js";
import { startSink } from "../support/otlp-sink.js";
import { bodies, logs } from "../support/telemetry/batches.js";

const settle = async () => {
  for (let i = 0; i < 10; i++) await new Promise(setImmediate);
};

/** An exporter without a queue whose sends end when the test says so. */
function direct(config: Record<string, unknown>) {
  const clock = new FakeClock();
  const sends: { readonly bodies: string[]; end(error?: Error): void }[] = [];
  const { metadataKeys = [], ...settings } = batch.batching!(batch.schema.parse(config));
  const outlet = directOutlet({
    id: "out",
    exporter: {
      send: (sent) =>
        new Promise((resolve, reject) => {
          sends.push({ bodies: bodies(sent), end: (error) => (error ? reject(error) : resolve(undefined)) });
        }),
    },
    settings: { timeout: 60_000 },
    typeDefaults: {},
    batching: new Map([["logs", { ...settings, metadataKeys }]]),
    clock,
    random: Math.random,
    logger: silentLogger,
    metrics: noMetrics,
  });
  const send = (body: string, tenant?: string): Outcome[] => {
    const { delivery, outcomes } = owed(logs(body), tenant ? { metadata: new Map([["tenant", [tenant]]]) } : {});
    outlet.accept(delivery, "logs");
    return outcomes;
  };
  return { clock, outlet, sends, send, sent: () => sends.map((each) => each.bodies) };
}

describe("batch in front of an exporter without a queue", () => {
  it("sends at once while the exporter is idle", () => {
    const { send, sent, clock } = direct({});
    send("a");
    expect(sent()).toEqual([["a"]]);
    expect(clock.pending).toBe(1); // the timeout of the send
  });

  it("collects records while a send is under way, sends them when it ends, and answers each sender", async () => {
    const { send, sends, sent } = direct({});
    const outcomes = ["a", "b", "c", "d"].map((body) => send(body));
    expect(sent()).toEqual([["a"], ["b"]]);
    sends[1]!.end();
    await settle();
    expect(sent().slice(2)).toEqual([["c", "d"]]);
    expect(outcomes.map((each) => each.length)).toEqual([0, 1, 0, 0]);
    sends[2]!.end(new Error("down"));
    await settle();
    expect(outcomes.slice(2)).toMatchObject([[{ ok: false }], [{ ok: false }]]);
  });

  it("sends merged batches again separately after a permanent refusal, so that only the bad one is refused", async () => {
    const { send, sends, sent } = direct({});
    const outcomes = ["1", "2", "good", "bad"].map((body) => send(body));
    sends[0]!.end();
    await settle();
    expect(sent().slice(2)).toEqual([["good", "bad"]]);
    sends[2]!.end(new Refusal("permanent", "no"));
    await settle();
    expect(sent().slice(3)).toEqual([["good"], ["bad"]]);
    sends[3]!.end();
    sends[4]!.end(new Refusal("permanent", "bad record"));
    await settle();
    expect(outcomes.slice(2)).toMatchObject([[{ ok: true }], [{ ok: false, refusal: { message: "bad record" } }]]);
  });

  it("lets nothing wait longer than timeout, or when there are enough records", () => {
    const { send, sent, clock } = direct({ timeout: "200ms", send_batch_size: 3 });
    for (const body of ["a", "b", "c", "d"]) send(body);
    clock.advance(200);
    expect(sent().slice(2)).toEqual([["c", "d"]]);
    for (const body of ["e", "f", "g"]) send(body);
    expect(sent().slice(3)).toEqual([["e", "f", "g"]]);
  });

  it("keeps the clients of different metadata apart", async () => {
    const { send, sends, sent } = direct({ metadata_keys: ["tenant"] });
    for (const body of ["1", "2"]) send(body);
    send("a1", "a");
    send("b1", "b");
    send("a2", "a");
    sends[0]!.end();
    sends[1]!.end();
    await settle();
    expect(sent().slice(2)).toEqual([["a1", "a2"], ["b1"]]);
  });

  it("sends what waits when it drains, and refuses it when it is aborted", async () => {
    const drained = direct({});
    for (const body of ["1", "2", "a"]) drained.send(body);
    const done = drained.outlet.drain();
    expect(drained.sent().at(-1)).toEqual(["a"]);
    for (const { end } of drained.sends) end();
    await done;
    expect(drained.clock.pending).toBe(0);

    const aborted = direct({});
    const outcomes = ["1", "2", "a"].map((body) => aborted.send(body));
    aborted.outlet.abort();
    await settle();
    expect(outcomes).toMatchObject(Array(3).fill([{ ok: false, refusal: { kind: "transient" } }]));
    expect(aborted.sent()).toHaveLength(2);
  });
});

describe("batch in a config", () => {
  afterEach(cleanUp);

  it("merges also behind a connector, for the exporter it leads to, and answers at once", async () => {
    const sink = await startSink();
    const agent = await startFed(
      (directory) => `
processors: {batch: {timeout: 1h, send_batch_size: 3}}
connectors: {forward: }
exporters: {otlp_http: {endpoint: "${sink.url}"}}
extensions: {reliability: {directory: ${JSON.stringify(directory)}}}
service:
  extensions: [reliability]
  pipelines:
    logs/in: {receivers: [hand], processors: [batch], exporters: [forward]}
    logs/out: {receivers: [forward], exporters: [otlp_http]}
`,
    );
    for (const body of ["a", "b", "c"]) expect(await agent.hand(logs(body))).toMatchObject({ ok: true });
    await expect.poll(() => sink.batches.map(bodies)).toEqual([["a", "b", "c"]]);
    await sink.close();
  });

  it("refuses a maximum below the size at which it sends", () => {
    const result = batch.schema.safeParse({ send_batch_size: 10, send_batch_max_size: 5 });
    expect(result.error?.issues).toMatchObject([{ path: ["send_batch_max_size"] }]);
  });
});
