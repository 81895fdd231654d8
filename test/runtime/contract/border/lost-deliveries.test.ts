import { bufferCount, debounceTime, filter, map, merge, mergeMap, share, take } from "rxjs";
import { describe, expect, it, vi } from "vitest";
import { collectGarbage } from "../../../../src/agent/cli/v8.js";
import {
  Batch,
  Delivery,
  type Logger,
  type Outcome,
  type Processor,
  Refusal,
  splitBatch,
  statefulProcessor,
} from "../../../../src/plugin.js";
import { silentLogger } from "../../../../src/runtime/contract/observability.js";
import { FakeClock } from "../../../../src/testing.js";
import { sketch } from "../../../support/plan.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";

/** A pipeline with one processor of a plugin between a receiver and an exporter. */
function pipelineOf(processor: Processor, isTaken: (body: string) => boolean = () => true) {
  const clock = new FakeClock();
  const warnings: string[] = [];
  const exported: string[] = [];
  const logger = (component: unknown): Logger => ({
    ...silentLogger,
    warn: (_fields: object, message: string) => void warnings.push(`${component}: ${message}`),
    child: (fields) => logger(fields["component"] ?? component),
  });
  const { graph, intake } = sketch(
    {
      processors: { mine: () => processor },
      exporters: {
        out: {
          send: async (batch) => {
            if (!bodies(batch).every(isTaken)) throw new Refusal("permanent", "not taken");
            exported.push(...bodies(batch));
          },
        },
      },
      pipelines: { logs: { receivers: ["in"], processors: ["mine"], exporters: ["out"] } },
    },
    { plugins: true, clock, logger: logger("") },
  );
  const send = (...texts: string[]): Promise<Outcome> => intake("in").accept(logs(...texts));
  /** Lets time pass until all are answered. */
  const answersTo = async (...sent: Promise<Outcome>[]): Promise<Outcome[]> => {
    const all = Promise.all(sent);
    let isOver = false;
    void all.then(() => (isOver = true));
    while (!isOver) await clock.pass(1000);
    return all;
  };
  return { send, answersTo, graph, clock, warnings, exported };
}

/** Waits until garbage is collected, and the callbacks have run. */
async function collected(): Promise<void> {
  collectGarbage();
  await new Promise((resolve) => setImmediate(resolve));
}

const WAIT = { timeout: 20_000, interval: 1 };

const isWanted = ({ batch }: Delivery) => !bodies(batch).includes("unwanted");

const LOST = {
  ok: false,
  refusal: {
    kind: "transient",
    code: "SLUICE_DELIVERY_LOST",
    message: expect.stringMatching(/^processor mine failed: it lost a delivery.*drop\(\)/),
  },
};

describe("a plugin of plain RxJS operators", { timeout: 60_000 }, () => {
  it.each<[string, Processor]>([
    ["filter", filter(isWanted)],
    [
      "filter behind a map",
      (source) =>
        source.pipe(
          map((delivery) => delivery.with(delivery.batch)),
          filter(isWanted),
        ),
    ],
    [
      "share, with two subscribers of which one filters",
      (source) => {
        const shared = source.pipe(share());
        const isLong = ({ batch }: Delivery) => bodies(batch)[0]!.length > 20;
        return merge(shared.pipe(filter(isWanted)), shared.pipe(filter(isLong)));
      },
    ],
    [
      "a split of which only one part is handed on",
      mergeMap((delivery) => {
        const [first, ...others] = delivery.split(splitBatch(delivery.batch, { records: 1 }));
        return isWanted(delivery) ? [first!, ...others] : [first!];
      }),
    ],
    [
      "a function that keeps none of it",
      (source) => source.pipe(mergeMap((delivery) => (isWanted(delivery) ? [delivery] : []))),
    ],
  ])("has the sender answered when %s lets go of a delivery, and holds nothing", async (_what, processor) => {
    const { send, answersTo, graph, warnings } = pipelineOf(processor);
    const wanted = await send("a");
    const lost = await answersTo(send("unwanted", "b"), send("unwanted", "c"));
    expect(wanted).toMatchObject({ ok: true });
    expect(lost).toMatchObject([LOST, LOST]);
    expect(graph.budget.used).toBe(0);
    expect(warnings).toEqual([expect.stringMatching(/^processor mine: the processor lost a delivery: .*drop\(\)/)]);
    expect(await send("d")).toMatchObject({ ok: true });
  });

  it("has all but the last answered that debounceTime lets go of, and hands on the last", async () => {
    const { send, answersTo, graph, exported } = pipelineOf(debounceTime(10));
    const outcomes = await answersTo(send("a"), send("b"), send("c"));
    expect(outcomes).toMatchObject([LOST, LOST, { ok: true }]);
    expect(exported).toEqual(["c"]);
    expect(graph.budget.used).toBe(0);
  });

  it("has the sender answered when it forgets what came back by a caught refusal", async () => {
    const { send, answersTo, graph } = pipelineOf(
      map((delivery) => delivery.catchRefusal(() => {})),
      (body) => body !== "bad",
    );
    expect(await send("a")).toMatchObject({ ok: true });
    expect(await answersTo(send("bad"))).toMatchObject([LOST]);
    expect(graph.budget.used).toBe(0);
  });

  it("cannot hand on data that its sender was asked to send again", async () => {
    let late: Delivery | undefined;
    const { send, exported } = pipelineOf(
      mergeMap((delivery) => {
        if (late !== undefined) return [late, delivery];
        late = delivery;
        delivery.refuse(new Refusal("transient", "too busy"));
        return [];
      }),
    );
    expect(await send("a")).toMatchObject({ ok: false });
    expect(await send("b")).toMatchObject({ ok: true });
    expect(exported).toEqual(["b"]);
  });

  it("is recreated when take ends its stream", async () => {
    const { send, graph } = pipelineOf(take(1));
    expect([await send("a"), await send("b")]).toMatchObject([{ ok: true }, { ok: true }]);
    expect(graph.budget.used).toBe(0);
  });

  it("drops on purpose with drop(), at once and without a warning", async () => {
    const { send, exported, warnings, graph } = pipelineOf(filter((delivery) => isWanted(delivery) || delivery.drop()));
    expect(await send("unwanted")).toMatchObject({ ok: true });
    expect(await send("a")).toMatchObject({ ok: true });
    expect({ exported, warnings, used: graph.budget.used }).toEqual({ exported: ["a"], warnings: [], used: 0 });
  });

  it("may hold deliveries for as long as it likes, when it hands them on in the end", async () => {
    const together = ([first, ...others]: Delivery[]) =>
      Delivery.merge([first!, ...others], Batch.merge([first!, ...others].map(({ batch }) => batch)));
    const { send, exported, warnings } = pipelineOf((source) => source.pipe(bufferCount(2), map(together)));
    const first = send("a");
    for (let i = 0; i < 5; i++) await collected();
    expect(await send("b")).toMatchObject({ ok: true });
    expect(await first).toMatchObject({ ok: true });
    expect({ exported, warnings }).toEqual({ exported: ["a", "b"], warnings: [] });
  });
});

describe("a plugin that says that it holds deliveries", () => {
  it("is not looked at, and what it forgets is found when garbage is collected anyway", async () => {
    const { send, clock } = pipelineOf(statefulProcessor(() => ({ next: () => {} })));
    let outcome: Outcome | undefined;
    void send("a").then((answer) => (outcome = answer));
    expect(clock.pending).toBe(0);
    await vi.waitFor(async () => {
      await collected();
      expect(outcome).toMatchObject(LOST);
    }, WAIT);
  });
});
