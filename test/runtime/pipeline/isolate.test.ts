import { map, Observable } from "rxjs";
import { describe, expect, it } from "vitest";
import { type Delivery, eachBatch, type Processor, statefulProcessor } from "../../../src/plugin.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { type IsolateSettings, isolate } from "../../../src/runtime/pipeline/isolate.js";
import { feed, owed } from "../../support/deliveries.js";
import { bodies, logs } from "../../support/telemetry/batches.js";

const counter = noMetrics.counter("test", { description: "" }, {});

const settings: IsolateSettings = {
  id: "own",
  signal: "logs",
  logger: silentLogger,
  clock: systemClock,
  incoming: counter,
  outgoing: counter,
  failures: counter,
};

/** An isolated processor that counts how often it was made. */
function isolated(create: () => Processor, overrides: Partial<IsolateSettings> = {}) {
  let made = 0;
  const processor = isolate(
    () => {
      made += 1;
      return create();
    },
    { ...settings, ...overrides },
  );
  return { ...feed(processor), made: () => made };
}

/** Holds what comes until it is drained. */
const holding = () =>
  statefulProcessor((out) => {
    const held: Delivery[] = [];
    return {
      next: (delivery) => void held.push(delivery),
      drain() {
        for (const delivery of held) out.next(delivery);
      },
    };
  });

const failOn = (body: string) => () =>
  map((delivery: Delivery) => {
    if (bodies(delivery.batch).includes(body)) throw new Error("bang");
    return delivery;
  }) as Processor;

describe("an isolated processor", () => {
  it("is created once before the first delivery, and again only after a failure", () => {
    const { source, out, made } = isolated(failOn("bad"));
    expect(made()).toBe(1);
    for (const body of ["a", "b"]) source.next(owed(logs(body)).delivery);
    expect(made()).toBe(1);
    const bad = owed(logs("bad"));
    source.next(bad.delivery);
    expect(bad.outcomes).toMatchObject([{ ok: false, refusal: { message: "processor own failed: bang" } }]);
    expect(made()).toBe(1);
    source.next(owed(logs("c")).delivery);
    expect(made()).toBe(2);
    expect(out.flatMap(({ batch }) => bodies(batch))).toEqual(["a", "b", "c"]);
  });

  it("refuses all deliveries that it holds when it fails, and is idle only then", () => {
    const tally = { taken: 0, handedOn: 0, refused: 0, deadLettered: 0, isIdle: () => true };
    const dying = () =>
      statefulProcessor((out) => ({
        next: (delivery) => (bodies(delivery.batch)[0] === "bad" ? out.error(new Error("bang")) : undefined),
      }));
    const { source } = isolated(dying, { tally });
    const held = owed(logs("held"));
    source.next(held.delivery);
    expect(tally.isIdle()).toBe(false);
    const bad = owed(logs("bad"));
    source.next(bad.delivery);
    expect(tally.isIdle()).toBe(true);
    expect([held.outcomes, bad.outcomes]).toMatchObject([[{ ok: false }], [{ ok: false }]]);
  });

  it("hands on the deliveries it holds when its input completes, and then completes", async () => {
    const { source, out, isComplete } = isolated(holding);
    source.next(owed(logs("a")).delivery);
    source.complete();
    expect(out).toHaveLength(1);
    await expect.poll(isComplete).toBe(true);
  });

  it("completes with all deliveries refused when it fails while it drains", async () => {
    const { source, isComplete, errors } = isolated(
      () => (input: Observable<Delivery>) =>
        new Observable<Delivery>((out) =>
          input.subscribe({ next: () => {}, complete: () => out.error(new Error("no flush")) }),
        ),
    );
    const { delivery, outcomes } = owed(logs("a"));
    source.next(delivery);
    source.complete();
    await expect.poll(isComplete).toBe(true);
    expect(errors).toEqual([]);
    expect(outcomes).toMatchObject([{ ok: false, refusal: { message: "processor own failed: no flush" } }]);
  });

  it("completes at once when it drains without a running operator", () => {
    const { source, isComplete, made } = isolated(holding);
    source.complete();
    expect(isComplete()).toBe(true);
    expect(made()).toBe(1);
  });

  it("refuses the deliveries it holds when it is aborted", () => {
    const { source, out, unsubscribe } = isolated(holding);
    const { delivery, outcomes } = owed(logs("a"));
    source.next(delivery);
    unsubscribe();
    expect(out).toEqual([]);
    expect(outcomes).toMatchObject([{ ok: false, refusal: { code: "SLUICE_SHUTTING_DOWN" } }]);
  });

  it("ignores output after an abort, because it has refused that delivery", async () => {
    const answers: (() => void)[] = [];
    const slow = () => eachBatch((batch) => new Promise((resolve) => answers.push(() => resolve(batch))));
    const { source, out, unsubscribe } = isolated(slow);
    const { delivery, outcomes } = owed(logs("a"));
    source.next(delivery);
    unsubscribe();
    for (const answer of answers) answer();
    await new Promise(setImmediate);
    expect(out).toEqual([]);
    expect(outcomes).toHaveLength(1);
  });
});
