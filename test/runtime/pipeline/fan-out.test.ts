import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { type Batch, type Clock, Delivery, eachBatch, type Outcome, Refusal } from "../../../src/plugin.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { Debt } from "../../../src/runtime/contract/debt.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { type Choose, Junction } from "../../../src/runtime/pipeline/junction.js";
import { PartialAcceptance } from "../../../src/runtime/pipeline/partial-acceptance.js";
import { startSink } from "../../support/otlp-sink.js";
import { sketch } from "../../support/plan.js";
import { runs } from "../../support/runs.js";
import { bodies, logs } from "../../support/telemetry/batches.js";
import { cleanUp, startWrapped } from "../queue/agent.js";

/** The end of a branch, which accepts deliveries while the test allows it. */
class Branch {
  readonly taken: string[] = [];
  answer: { rejected: number; message: string } | Refusal = { rejected: 0, message: "" };

  next(delivery: Delivery): void {
    if (this.answer instanceof Refusal) return delivery.refuse(this.answer);
    this.taken.push(...bodies(delivery.batch));
    delivery.accept(this.answer);
  }
}

const busy = () => new Refusal("throttled", "full");

interface Offer {
  readonly metadata?: ReadonlyMap<string, readonly string[]>;
  readonly route?: readonly string[];
}

type DeliverySource = Pick<Junction, "next">;

function junctionOf(memory: PartialAcceptance<string>, all: readonly Branch[], choose?: Choose): Junction {
  const junction = new Junction(memory, silentLogger, choose);
  for (const [i, branch] of all.entries())
    junction.branch(`branch ${i}`).subscribe((delivery) => branch.next(delivery));
  return junction;
}

function offered(source: DeliverySource, batch: Batch, { metadata, route }: Offer = {}): Outcome | undefined {
  let outcome: Outcome | undefined;
  const debt = new Debt((settled) => {
    outcome = settled;
  });
  source.next(new Delivery(batch, { receiver: "r", transport: "t", ...(metadata && { metadata }) }, debt, route));
  return outcome;
}

interface BranchesOptions {
  readonly clock?: Clock;
  readonly count?: number;
  readonly maxRemembered?: number;
}

function branches({ clock = systemClock, count = 2, maxRemembered }: BranchesOptions = {}) {
  const all = Array.from({ length: count }, () => new Branch());
  let prevented = 0;
  const add = (records: number) => {
    prevented += records;
  };
  const memory = new PartialAcceptance<string>(clock, { add }, maxRemembered);
  const source = junctionOf(memory, all);
  return { all, memory, source, prevented: () => prevented };
}

describe("a fan-out that one source refused", () => {
  it("gives repeated data only to the branches that do not have it", () => {
    const { all, source, prevented } = branches();
    const [healthy, full] = all;
    full!.answer = busy();
    for (let i = 0; i < 3; i++) expect(offered(source, logs("a", "b"))).toMatchObject({ ok: false });
    expect(healthy!.taken).toEqual(["a", "b"]);
    full!.answer = { rejected: 0, message: "" };
    expect(offered(source, logs("a", "b"))).toMatchObject({ ok: true });
    expect([healthy!.taken, full!.taken]).toEqual([
      ["a", "b"],
      ["a", "b"],
    ]);
    expect(prevented()).toBe(6);
  });

  it("accepts the same data again after a success", () => {
    const { all, source } = branches();
    all[1]!.answer = busy();
    offered(source, logs("a"));
    all[1]!.answer = { rejected: 0, message: "" };
    offered(source, logs("a"));
    offered(source, logs("a"));
    expect(all.map(({ taken }) => taken)).toEqual([
      ["a", "a"],
      ["a", "a"],
    ]);
  });

  it("still reports to the sender what the accepting branch has rejected", () => {
    const { all, source } = branches();
    all[0]!.answer = { rejected: 1, message: "too old" };
    all[1]!.answer = busy();
    offered(source, logs("a", "b"));
    all[0]!.answer = busy();
    all[1]!.answer = { rejected: 0, message: "" };
    expect(offered(source, logs("a", "b"))).toEqual({ ok: true, rejected: 1, message: "too old" });
  });

  it("does not give it again to a branch that has it as a dead letter, and reports it", () => {
    const { all, source } = branches();
    const kept = new Refusal("permanent", "a dead letter", { code: "SLUICE_DEAD_LETTERED" });
    all[0]!.answer = kept;
    all[1]!.answer = busy();
    expect(offered(source, logs("a"))).toMatchObject({ ok: false, refusal: { kind: "throttled" } });
    for (const branch of all) branch.answer = { rejected: 0, message: "" };
    expect(offered(source, logs("a"))).toEqual({ ok: false, refusal: kept });
    expect(all.map(({ taken }) => taken)).toEqual([[], ["a"]]);
  });

  it("treats the same bytes with other client headers as another delivery", () => {
    const { all, source } = branches();
    const of = (tenant: string) => ({ metadata: new Map([["tenant", [tenant]]]) });
    all[1]!.answer = busy();
    offered(source, logs("a"), of("one"));
    offered(source, logs("a"), of("two"));
    expect(all[0]!.taken).toEqual(["a", "a"]);
  });

  it("remembers no permanently refused data, and nothing forever", () => {
    let now = 0;
    const { all, source } = branches({ clock: { ...systemClock, monotonic: () => now } });
    all[1]!.answer = new Refusal("permanent", "never");
    for (let i = 0; i < 2; i++) offered(source, logs("a"));
    all[1]!.answer = busy();
    offered(source, logs("b"));
    now += 11 * 60_000;
    offered(source, logs("b"));
    expect(all[0]!.taken).toEqual(["a", "a", "b", "b"]);
  });

  it("remembers the newest when there are too many", () => {
    const { all, source } = branches({ maxRemembered: 2 });
    all[1]!.answer = busy();
    for (const body of ["a", "b", "c", "c", "b", "a"]) offered(source, logs(body));
    expect(all[0]!.taken).toEqual(["a", "b", "c", "a"]);
  });

  it("does so among the pipelines that a connector chose", () => {
    const { all, memory } = branches({ count: 3 });
    const source = junctionOf(memory, all, ({ route }) => route && new Set(route));
    all[2]!.answer = busy();
    for (let i = 0; i < 2; i++) offered(source, logs("a"), { route: ["branch 1", "branch 2"] });
    expect(all.map(({ taken }) => taken)).toEqual([[], ["a"], []]);
  });

  it("gives every source each content as often as it succeeded, and at most once more", () => {
    const step = fc.record({ body: fc.constantFrom("a", "b", "c"), refusing: fc.subarray([0, 1, 2]) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { all, source } = branches({ count: 3 });
        const successes = new Map<string, number>();
        for (const { body, refusing } of steps) {
          for (const [i, branch] of all.entries())
            branch.answer = refusing.includes(i) ? busy() : { rejected: 0, message: "" };
          if (offered(source, logs(body))?.ok) successes.set(body, (successes.get(body) ?? 0) + 1);
          for (const { taken } of all) {
            const extra = taken.filter((each) => each === body).length - (successes.get(body) ?? 0);
            expect([0, 1]).toContain(extra);
          }
        }
      }),
      runs(100),
    );
  });
});

describe("a request that one pipeline of several refused", () => {
  it("goes only to the exporters that do not have it when it is sent again, through the processors before them", async () => {
    const taken: Record<string, string[]> = { a: [], b: [], c: [] };
    const refusing = new Set(["c"]);
    const exporter = (id: string) => ({
      async send(batch: Batch) {
        if (refusing.has(id)) throw busy();
        taken[id]!.push(...bodies(batch));
        return undefined;
      },
    });
    const { intake } = sketch({
      processors: { pass: () => eachBatch((batch) => batch) },
      exporters: { a: exporter("a"), b: exporter("b"), c: exporter("c") },
      pipelines: {
        "logs/1": { receivers: ["in"], exporters: ["a"] },
        "logs/2": { receivers: ["in"], processors: ["pass"], exporters: ["b", "c"] },
      },
    });
    for (let i = 0; i < 2; i++) expect(await intake("in").accept(logs("x"))).toMatchObject({ ok: false });
    refusing.clear();
    expect(await intake("in").accept(logs("x"))).toMatchObject({ ok: true });
    expect(taken).toEqual({ a: ["x"], b: ["x"], c: ["x"] });
  });
});

describe("exporters of which one has a full queue", () => {
  afterEach(cleanUp);

  it("get repeated data of a client once each", async () => {
    const [healthy, slow] = [await startSink(), await startSink()];
    slow.decide(() => 503);
    const { send, agent, metrics } = await startWrapped(`
  otlp_http/healthy: {endpoint: ${healthy.url}}
  otlp_http/slow:
    endpoint: ${slow.url}
    sending_queue: {queue_size: 1, sizer: requests}
    retry_on_failure: {initial_interval: 1h, max_interval: 1h}`);
    expect(await send("first")).toMatchObject({ ok: true });
    for (let i = 0; i < 3; i++) expect(await send("second")).toMatchObject({ ok: false });
    expect(metrics.value("sluice_fan_out_duplicates")).toBe(2);
    slow.decide(() => 200);
    const retried = () => {
      agent.admin!.retryNow("otlp_http/slow");
      return slow.count;
    };
    await expect.poll(retried).toBe(1);
    await expect.poll(async () => (await send("second")).ok).toBe(true);
    await agent.stop();
    expect([healthy, slow].map(({ batches }) => batches.flatMap(bodies))).toEqual([
      ["first", "second"],
      ["first", "second"],
    ]);
    await Promise.all([healthy.close(), slow.close()]);
  });
});
