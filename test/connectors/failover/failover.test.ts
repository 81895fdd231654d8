import { afterEach, describe, expect, it } from "vitest";
import { failover } from "../../../src/connectors/failover/component.js";
import { Refusal } from "../../../src/plugin.js";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { countedMetrics } from "../../runtime/queue/counted-metrics.js";
import { feed, owed } from "../../support/deliveries.js";
import { FakeClock } from "../../support/fake-clock.js";
import { type OtlpSink, startSink } from "../../support/otlp-sink.js";
import { bodies, logs } from "../../support/telemetry/batches.js";
import { until } from "../../support/until.js";
import { cleanUp, startFed } from "../agent.js";
import { connectorContext, problemsOf } from "../support.js";

const sinks: OtlpSink[] = [];
afterEach(async () => {
  await cleanUp();
  for (const sink of sinks.splice(0)) await sink.close();
});

async function sink(): Promise<OtlpSink> {
  const made = await startSink();
  sinks.push(made);
  return made;
}

const received = (from: OtlpSink) => from.batches.flatMap(bodies);
const down: Parameters<OtlpSink["respond"]>[0] = (_request, response) => response.writeHead(503).end();

/** Two levels with one backend each; `keys` are the keys of both exporters. */
function twoLevels(first: OtlpSink, second: OtlpSink, keys: string, interval = "1m"): string {
  return `
exporters:
  otlp_http/1: {endpoint: "${first.url}", ${keys}}
  otlp_http/2: {endpoint: "${second.url}", ${keys}}
connectors: {failover: {priority_levels: [[logs/1], [logs/2]], retry_interval: ${interval}}}
service:
  extensions: [reliability]
  pipelines:
    logs/in: {receivers: [hand], exporters: [failover]}
    logs/1: {receivers: [failover], exporters: [otlp_http/1]}
    logs/2: {receivers: [failover], exporters: [otlp_http/2]}
`;
}

const QUEUED = "retry_on_failure: {initial_interval: 1s}, circuit_breaker: {failure_threshold: 1, reset_timeout: 30s}";
const DIRECT = "sending_queue: {enabled: false}, retry_on_failure: {enabled: false}";

describe("failover with queues", () => {
  it("leaves a level whose circuit breaker is open, and comes back when it is closed again", async () => {
    const [first, second] = [await sink(), await sink()];
    const clock = new FakeClock();
    const { hand, admin, metrics } = await startFed(twoLevels(first, second, QUEUED), { clock });
    const level = () => metrics.value("sluice_failover_level", { connector: "failover" });
    expect(await hand(logs("a"))).toEqual(ACCEPTED);
    await until(() => expect(received(first)).toEqual(["a"]));
    first.respond(down);
    expect(await hand(logs("b"))).toEqual(ACCEPTED);
    const breaker = () => admin.exporters()[0]!.breaker.state;
    await until(() => expect(breaker()).toBe("open"));
    expect(await hand(logs("c"))).toEqual(ACCEPTED);
    await until(() => expect(received(second)).toEqual(["c"]));
    expect(level()).toBe(2);
    // A call under way when the clock jumps would time out, and be repeated.
    await until(() => expect(admin.exporters()[1]!.queue.entries).toBe(0));

    first.respond(undefined);
    await until(() => {
      if (admin.exporters()[0]!.queue.inFlight === 0) clock.advance(31_000);
      expect(received(first)).toEqual(["a", "b"]);
    });
    await until(() => expect(admin.exporters()[0]!.queue.entries).toBe(0));
    expect(await hand(logs("d"))).toEqual(ACCEPTED);
    await until(() => expect(received(first)).toEqual(["a", "b", "d"]));
    expect(received(second)).toEqual(["c"]);
    expect([level(), metrics.value("sluice_failover_switches")]).toEqual([1, 2]);
  });

  it("leaves a level whose exporter is paused; when all are, the first keeps the data", async () => {
    const [first, second] = [await sink(), await sink()];
    const { hand, admin } = await startFed(twoLevels(first, second, QUEUED));
    admin.pause("otlp_http/1");
    expect(await hand(logs("a"))).toEqual(ACCEPTED);
    await until(() => expect(received(second)).toEqual(["a"]));
    admin.pause("otlp_http/2");
    expect(await hand(logs("b"))).toEqual(ACCEPTED);
    expect(admin.exporters().map((one) => one.queue.entries)).toEqual([1, 0]);
    admin.resume("otlp_http/1");
    await until(() => expect(received(first)).toEqual(["b"]));
  });

  it("goes to the next level when a queue is full, before the sender is refused", async () => {
    const [first, second] = [await sink(), await sink()];
    const { hand, admin } = await startFed(twoLevels(first, second, "sending_queue: {queue_size: 1}"));
    first.respond(() => {});
    expect(await hand(logs("a"))).toEqual(ACCEPTED);
    expect(await hand(logs("b"))).toEqual(ACCEPTED);
    await until(() => expect(received(second)).toEqual(["b"]));
    expect(admin.exporters()[0]!.queue.entries).toBe(1);
  });
});

describe("failover without queues", () => {
  it("offers refused data to the next level, and tries the level again after the interval", async () => {
    const [first, second] = [await sink(), await sink()];
    const clock = new FakeClock();
    const { hand, metrics } = await startFed(twoLevels(first, second, DIRECT), { clock });
    first.respond(down);
    expect(await hand(logs("a"))).toEqual(ACCEPTED);
    first.respond(undefined);
    expect(await hand(logs("b"))).toEqual(ACCEPTED);
    expect([received(first), received(second)]).toEqual([[], ["a", "b"]]);
    clock.advance(60_000);
    expect(await hand(logs("c"))).toEqual(ACCEPTED);
    expect([received(first), received(second)]).toEqual([["c"], ["a", "b"]]);
    expect(metrics.value("sluice_failover_switches")).toBe(2);
  });

  it("refuses with a retryable error when every level refuses, and keeps trying all of them", async () => {
    const [first, second] = [await sink(), await sink()];
    const { hand } = await startFed(twoLevels(first, second, DIRECT));
    first.respond(down);
    second.respond(down);
    for (const body of ["a", "b"])
      expect(await hand(logs(body))).toMatchObject({ ok: false, refusal: { kind: "transient" } });
    expect([first.requests.length, second.requests.length]).toEqual([2, 2]);
    second.respond(undefined);
    expect(await hand(logs("c"))).toEqual(ACCEPTED);
    expect(received(second)).toEqual(["c"]);
  });

  it("tries another level after a permanent refusal, without marking the level as failed", async () => {
    const [first, second] = [await sink(), await sink()];
    const { hand, metrics } = await startFed(twoLevels(first, second, DIRECT));
    first.respond((_request, response) => response.writeHead(400).end());
    expect(await hand(logs("bad"))).toEqual(ACCEPTED);
    first.respond(undefined);
    expect(await hand(logs("good"))).toEqual(ACCEPTED);
    expect([received(first), received(second)]).toEqual([["good"], ["bad"]]);
    expect(metrics.value("sluice_failover_switches")).toBe(0);
  });
});

describe("the failover connector", () => {
  const start = (config: object, extra: object = {}) =>
    feed(
      failover.create(
        failover.schema.parse(config),
        connectorContext("logs", { targets: ["logs/1", "logs/2", "logs/3"], ...extra }),
      ),
    );

  it("treats a level as healthy only if all of its pipelines are", () => {
    const { source, out } = start(
      { priority_levels: [["logs/1", "logs/2"], ["logs/3"]] },
      { isAvailable: (target: string) => target !== "logs/2" },
    );
    source.next(owed(logs("a")).delivery);
    expect(out.map((delivery) => delivery.route)).toEqual([["logs/3"]]);
  });

  it("prefers a queue that waits to a level that just refused", () => {
    const { source, out } = start(
      { priority_levels: [["logs/1"], ["logs/2"]] },
      { isAvailable: (t: string) => t === "logs/1" },
    );
    const a = owed(logs("a"));
    source.next(a.delivery);
    out[0]!.refuse(new Refusal("transient", "full"));
    source.next(owed(logs("b")).delivery);
    expect(out.map((delivery) => delivery.route)).toEqual([["logs/1"], ["logs/2"], ["logs/2"]]);
    expect(a.outcomes).toEqual([]);
  });

  it("passes refusals to the sender once it has been drained", () => {
    const { source, out, isComplete } = start({ priority_levels: [["logs/1"], ["logs/2"]] });
    const { delivery, outcomes } = owed(logs("a"));
    source.next(delivery);
    source.complete();
    expect(isComplete()).toBe(true);
    out[0]!.refuse(new Refusal("transient", "stopped"));
    expect(out).toHaveLength(1);
    expect(outcomes).toMatchObject([{ ok: false }]);
  });

  it("stops reporting its level when it stops", () => {
    const metrics = countedMetrics();
    const { unsubscribe } = start({ priority_levels: [["logs/1"]] }, { metrics });
    expect(metrics.names).toContain("sluice_failover_level");
    unsubscribe();
    expect(metrics.names).not.toContain("sluice_failover_level");
  });
});

describe("a failover config", () => {
  const text = (keys: string) => `receivers: {otlp: {protocols: {http: }}}
exporters: {nop: }
connectors:
  failover:
${keys}
service:
  pipelines:
    traces/in: {receivers: [otlp], exporters: [failover]}
    traces/first: {receivers: [failover], exporters: [nop]}
    traces/second: {receivers: [failover], exporters: [nop]}
`;

  it("loads with the Collector's keys, and says which have no effect", () => {
    const keys = `    priority_levels:
      - [traces/first]
      - [traces/second]
    retry_interval: 5m
    retry_gap: 1m
    max_retries: 10
    sending_queue: {enabled: true}`;
    expect(problemsOf(text(keys)).map((problem) => problem.split(": ")[0])).toEqual([
      "9:5 connectors.failover.retry_gap",
      "10:5 connectors.failover.max_retries",
      "11:5 connectors.failover.sending_queue",
    ]);
  });

  it.each([
    [
      "    retry_interval: 5m",
      ['4:3 connectors.failover.priority_levels: "priority_levels" is required: expected a list'],
    ],
    [
      "    priority_levels: [[traces/first], [traces/secnd]]",
      [
        '5:40 connectors.failover.priority_levels.1.0: pipeline "traces/secnd" is not defined under service.pipelines; did you mean "traces/second"?',
      ],
    ],
    [
      "    priority_levels: [[traces/first]]\n    retry_interval: 0s",
      ["6:21 connectors.failover.retry_interval: expected more than 0"],
    ],
  ])("reports problems at their places (%#)", (keys, expected) => expect(problemsOf(text(keys))).toEqual(expected));
});
