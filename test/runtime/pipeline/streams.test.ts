import fc from "fast-check";
import { of, throwError } from "rxjs";
import { describe, expect, it } from "vitest";
import { Delivery, type Outcome, type Processor, statefulProcessor } from "../../../src/plugin.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { Debt } from "../../../src/runtime/contract/debt.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { type Choose, Junction } from "../../../src/runtime/pipeline/junction.js";
import { PartialAcceptance } from "../../../src/runtime/pipeline/partial-acceptance.js";
import { DeliverySource, GraphEntry, GraphPlace, into, whenEnded } from "../../../src/runtime/pipeline/streams.js";
import { runs } from "../../support/runs.js";
import { bodies, logs } from "../../support/telemetry/batches.js";

const NOWHERE = { next() {}, error() {}, complete() {} };
const same: Processor = (deliveries) => deliveries;

function delivery(body: string, onSettled: (outcome: Outcome) => void = () => {}, route?: readonly string[]): Delivery {
  return new Delivery(logs(body), { receiver: "r", transport: "t" }, new Debt(onSettled), route);
}

function junction(choose?: Choose): Junction {
  return new Junction(new PartialAcceptance(systemClock, { add() {} }), silentLogger, choose);
}

/** Takes everything in the order in which it comes, and accepts it. */
function taking(taken: string[]) {
  return {
    ...NOWHERE,
    next(one: Delivery) {
      taken.push(...bodies(one.batch));
      one.accept();
    },
  };
}

/** A place with its input, and what comes out of it. */
function place() {
  const taken: string[] = [];
  const source = new DeliverySource();
  const one = new GraphPlace<Delivery, Delivery>("test", taking(taken), silentLogger);
  one.add(source);
  const outcomes: Record<string, boolean> = {};
  const give = (body: string, then: () => void = () => {}) =>
    source.next(
      delivery(body, ({ ok }) => {
        outcomes[body] = ok;
        then();
      }),
    );
  return { taken, source, place: one, outcomes, give };
}

/** Holds everything until it is drained. */
const holding = (): Processor =>
  statefulProcessor((out) => {
    const held: Delivery[] = [];
    return {
      next: (one) => void held.push(one),
      drain() {
        while (held.length > 0) out.next(held.shift()!);
      },
      abort() {
        for (const one of held.splice(0)) one.refuse("aborted");
      },
    };
  });

describe("a place", () => {
  it("hands what was held to the next version, before what comes meanwhile", () => {
    const { taken, place: one, give } = place();
    one.use(same);
    one.hold();
    give("1", () => give("4"));
    give("2");
    give("3");
    one.use(same);
    give("5");
    expect(taken).toEqual(["1", "2", "3", "4", "5"]);
  });

  it("lets out what a former version still held", async () => {
    const { taken, place: one, give } = place();
    one.use(holding());
    give("1");
    const former = one.use(same)!;
    give("2");
    await whenEnded([former]);
    expect(taken).toEqual(["1", "2"]);
  });

  it.each<[string, Processor]>([
    ["completes by itself", () => of()],
    ["fails", () => throwError(() => new Error("broken"))],
    [
      "throws when it is applied",
      () => {
        throw new Error("broken");
      },
    ],
  ])("refuses what comes after its version %s, until there is another one", (_, broken) => {
    const { taken, place: one, outcomes, give } = place();
    one.use(broken);
    give("1");
    one.use(same);
    give("2");
    expect([outcomes, taken]).toEqual([{ 1: false, 2: true }, ["2"]]);
  });

  it("drains a version that begins after the input has ended", async () => {
    const { taken, source, place: one, give } = place();
    one.use(same);
    one.hold();
    give("1");
    one.close();
    source.complete();
    one.use(holding());
    await whenEnded([one]);
    expect(taken).toEqual(["1"]);
  });

  it("hands each delivery on once if it is exchanged again meanwhile", () => {
    const { taken, place: one, give } = place();
    one.hold();
    for (const body of ["1", "2", "3"]) give(body, () => body === "1" && one.use(same));
    one.use(same);
    expect(taken).toEqual(["1", "2", "3"]);
  });

  it("holds the rest if it is held again meanwhile", () => {
    const { taken, place: one, give } = place();
    for (const body of ["1", "2", "3"]) give(body, () => body === "1" && one.hold());
    one.use(same);
    expect(taken).toEqual(["1"]);
    one.use(same);
    expect(taken).toEqual(["1", "2", "3"]);
  });

  it("settles each delivery once if it is aborted meanwhile", () => {
    const { taken, place: one, outcomes, give } = place();
    for (const body of ["1", "2"]) give(body, () => body === "1" && one.abort());
    one.use(same);
    expect([taken, outcomes]).toEqual([["1"], { 1: true, 2: false }]);
  });

  it("refuses what it holds when it is aborted, even if the sender sends it again at once", () => {
    const { place: one, outcomes, give } = place();
    give("1", () => give("2"));
    one.abort();
    expect(outcomes).toEqual({ 1: false, 2: false });
  });

  it("begins no version after an abort", () => {
    const { place: one } = place();
    one.abort();
    let hasBegun = false;
    one.use((deliveries) => {
      hasBegun = true;
      return deliveries;
    });
    expect(hasBegun).toBe(false);
  });

  it("drains when a stream that leads to it fails", async () => {
    const one = new GraphPlace<Delivery, Delivery>("test", NOWHERE, silentLogger);
    one.use(same);
    one.add(throwError(() => new Error("broken")));
    await whenEnded([one]);
  });

  it("waits for all streams that lead to it, and ends when it is closed", async () => {
    const [first, second] = [new DeliverySource(), new DeliverySource()];
    const one = new GraphPlace<Delivery, Delivery>("test", NOWHERE, silentLogger);
    one.use(same);
    one.add(first);
    one.add(second);
    let hasEnded = false;
    const ended = whenEnded([one]).then(() => (hasEnded = true));
    one.close();
    first.complete();
    await Promise.resolve();
    expect(hasEnded).toBe(false);
    second.complete();
    await ended;
  });
});

describe("a junction", () => {
  /** Branches by key, with what each has taken. */
  function connected(from: Junction, ...keys: string[]): Record<string, string[]> {
    return Object.fromEntries(
      keys.map((key) => {
        const taken: string[] = [];
        const one = new GraphPlace<Delivery, Delivery>(key, taking(taken), silentLogger);
        one.use(same);
        one.add(from.branch(key));
        return [key, taken];
      }),
    );
  }

  it("refuses if it has no branches", () => {
    let outcome: Outcome | undefined;
    junction().next(delivery("1", (settled) => (outcome = settled)));
    expect(outcome).toMatchObject({ ok: false, refusal: { kind: "transient" } });
  });

  it("refuses the part of a branch that ends while another one gets its own", () => {
    const from = junction();
    const outcomes: boolean[] = [];
    let second: GraphPlace<Delivery, Delivery> | undefined;
    const first = new GraphPlace<Delivery, Delivery>(
      "first",
      {
        ...NOWHERE,
        next(one: Delivery) {
          second!.abort();
          one.accept();
        },
      },
      silentLogger,
    );
    second = new GraphPlace<Delivery, Delivery>("second", taking([]), silentLogger);
    for (const each of [first, second]) {
      each.use(same);
      each.add(from.branch(each.key));
    }
    from.next(delivery("1", ({ ok }) => outcomes.push(ok)));
    expect(outcomes).toEqual([false]);
  });

  it("drops what is for no branch on purpose, and refuses what is only for branches that are gone", () => {
    const from = junction(({ route }) => route && new Set(route));
    const taken = connected(from, "a", "b");
    const outcomes: Record<string, boolean> = {};
    for (const [body, route] of Object.entries({ dropped: [], gone: ["c"], chosen: ["b", "c"], all: undefined }))
      from.next(delivery(body, ({ ok }) => (outcomes[body] = ok), route));
    expect(outcomes).toEqual({ dropped: true, gone: false, chosen: true, all: true });
    expect(taken).toEqual({ a: ["all"], b: ["chosen", "all"] });
  });

  it("removes the choice, which is not meant for the next one", () => {
    const from = junction(({ route }) => route && new Set(route));
    const next = junction(({ route }) => route && new Set(route));
    const taken = connected(next, "x");
    const between = new GraphPlace<Delivery, Delivery>("between", next, silentLogger);
    between.use(same);
    between.add(from.branch("between"));
    from.next(delivery("1", undefined, ["between"]));
    expect(taken).toEqual({ x: ["1"] });
  });

  it("ends a branch that is added after its end, and takes no second one of the same name", () => {
    const from = junction();
    connected(from, "a");
    expect(() => from.branch("a")).toThrow("two branches a");
    from.complete();
    let hasEnded = false;
    from.branch("b").subscribe({ complete: () => (hasEnded = true) });
    expect(hasEnded).toBe(true);
  });

  it("exchanges its branches without a gap, and ends those that are gone afterwards", async () => {
    const from = junction();
    const one = new GraphPlace<Delivery, Delivery>("one", NOWHERE, silentLogger);
    one.use(same);
    one.add(from.branch("one"));
    one.close();
    const complete = from.clear();
    const taken = connected(from, "two");
    from.next(delivery("1"));
    complete();
    await whenEnded([one]);
    expect(taken).toEqual({ two: ["1"] });
  });

  it("ends its own branches on an error, and no others that lead to the same place", () => {
    const [broken, healthy] = [junction(), junction()];
    const taken: string[] = [];
    const end = new GraphPlace<Delivery, Delivery>("end", taking(taken), silentLogger);
    end.use(same);
    end.add(broken.branch("end"));
    end.add(healthy.branch("end"));
    broken.error(new Error("broken"));
    healthy.next(delivery("1"));
    expect(taken).toEqual(["1"]);
  });

  it("refuses a delivery on which something throws", () => {
    const outcomes: boolean[] = [];
    const from = junction(() => {
      throw new Error("broken");
    });
    connected(from, "a");
    from.next(delivery("1", ({ ok }) => outcomes.push(ok)));
    expect(outcomes).toEqual([false]);
  });
});

describe("the end of a stream", () => {
  function ending(end: Partial<Parameters<typeof into<Delivery>>[0]>) {
    const calls: string[] = [];
    const all = { accept() {}, drain: async () => {}, abort: () => void calls.push("abort"), ...end };
    const one = new GraphPlace<Delivery, never>("end", NOWHERE, silentLogger);
    const entry = new GraphEntry("entry", {
      ...NOWHERE,
      next: (each) => source.next(each),
      complete: () => source.complete(),
    });
    const source = new DeliverySource();
    one.use(into(all, silentLogger));
    one.add(source);
    one.close();
    return { calls, one, entry };
  }

  it("refuses what throws, and goes on", () => {
    const outcomes: boolean[] = [];
    const { entry } = ending({
      accept(one: Delivery) {
        if (bodies(one.batch)[0] === "1") throw new Error("broken");
        one.accept();
      },
    });
    for (const body of ["1", "2"]) entry.source.next(delivery(body, ({ ok }) => outcomes.push(ok)));
    expect(outcomes).toEqual([false, true]);
  });

  it.each<[string, () => Promise<void>]>([
    ["rejects", () => Promise.reject(new Error("broken"))],
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
  ])("ends although its drain %s", async (_, drain) => {
    const { calls, one, entry } = ending({ drain });
    entry.close();
    await whenEnded([one]);
    expect(calls).toEqual([]);
  });

  it("aborts if the place is aborted before it has drained, and refuses what comes after", () => {
    const outcomes: boolean[] = [];
    const { calls, one, entry } = ending({ drain: () => new Promise(() => {}) });
    entry.close();
    one.abort();
    entry.source.next(delivery("1", ({ ok }) => outcomes.push(ok)));
    expect([calls, outcomes]).toEqual([["abort"], [false]]);
  });
});

describe("places that are held, exchanged, completed and aborted at any time", () => {
  const versions: Record<string, () => Processor> = {
    same: () => same,
    holding,
    ended: () => () => of(),
    broken: () => () => throwError(() => new Error("broken")),
  };
  const act = fc.oneof(
    fc.record({ kind: fc.constant("give" as const), place: fc.nat(1) }),
    fc.record({ kind: fc.constant("hold" as const), place: fc.nat(1) }),
    fc.record({
      kind: fc.constant("use" as const),
      place: fc.nat(1),
      version: fc.constantFrom("same", "holding", "ended", "broken"),
    }),
    fc.record({ kind: fc.constant("abort" as const), place: fc.nat(1) }),
    fc.record({ kind: fc.constant("rewire" as const), place: fc.nat(1) }),
    fc.record({ kind: fc.constant("close" as const), place: fc.nat(1) }),
  );
  type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

  it("settle every delivery once, and have handed on exactly those that were accepted", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 40 }), fc.array(act, { maxLength: 6 }), async (acts, whenSettled) => {
        const taken: string[] = [];
        const settled = new Map<string, boolean[]>();
        const entryJunction = junction();
        const middle = junction();
        const entry = new GraphEntry("entry", entryJunction);
        const places = [
          new GraphPlace<Delivery, Delivery>("0", middle, silentLogger),
          new GraphPlace<Delivery, Delivery>("1", taking(taken), silentLogger),
        ] as const;
        const connect = (i: number) => {
          const from = i === 0 ? entryJunction : middle;
          const complete = from.clear();
          places[i]!.add(from.branch(String(i)));
          complete();
        };
        connect(0);
        connect(1);
        /** As the wiring of a graph aborts one place: what it leads to ends too. */
        const abort = (i: number) => {
          places[i]!.abort();
          if (i === 0) middle.complete();
        };
        let number = 0;
        const again = [...whenSettled];
        const run = (one: Act) => {
          const at = places[one.place]!;
          if (one.kind === "hold") at.hold();
          else if (one.kind === "use") at.use(versions[one.version]!());
          else if (one.kind === "abort") abort(one.place);
          else if (one.kind === "rewire") connect(one.place);
          else if (one.kind === "close") at.close();
          else {
            const body = String(number++);
            const outcomes: boolean[] = [];
            settled.set(body, outcomes);
            const onSettled = ({ ok }: Outcome) => {
              outcomes.push(ok);
              const next = again.shift();
              if (next !== undefined) run(next);
            };
            entry.source.next(delivery(body, onSettled));
          }
        };
        for (const one of acts) run(one);
        again.length = 0;
        for (const at of places) at.use(same);
        entry.close();
        for (const at of places) at.close();
        await whenEnded(places);
        for (const [body, outcomes] of settled) {
          expect(outcomes, `outcomes of ${body}`).toHaveLength(1);
          expect(
            taken.filter((each) => each === body),
            `arrivals of ${body}`,
          ).toHaveLength(outcomes[0] ? 1 : 0);
        }
      }),
      runs(300),
    );
  });
});
