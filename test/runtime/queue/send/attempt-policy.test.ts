import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { QueueOutlet } from "../../../../src/runtime/queue/queue-outlet.js";
import { BackendMemory } from "../../../../src/runtime/queue/send/backend-memory.js";
import { Bisections } from "../../../../src/runtime/queue/send/bisect.js";
import { Breaker } from "../../../../src/runtime/queue/send/breaker.js";
import { FailurePolicy } from "../../../../src/runtime/queue/send/failure-policy.js";
import { Gate } from "../../../../src/runtime/queue/send/gate.js";
import { Holds } from "../../../../src/runtime/queue/send/holds.js";
import { POLICY } from "../../../../src/runtime/queue/send/policy.js";
import { Ramp } from "../../../../src/runtime/queue/send/ramp.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { runs } from "../../../support/runs.js";
import { type Backend, hangs, http, numbers, type Queue, startQueue } from "../queue.js";

const ALL = Object.values(POLICY).reduce((bits, bit) => bits | bit, 0);

const troubleOf = (outlet: QueueOutlet) => outlet["lifecycle"]["trouble"];

/** Makes the queue ask every policy always. */
function forceAll(outlet: QueueOutlet): void {
  Object.defineProperty(troubleOf(outlet), "bits", { get: () => ALL, set: () => {} });
}

const BACKENDS = {
  well: async () => undefined,
  down: async () => Promise.reject(http(503)),
  broken: async () => Promise.reject(http(500)),
  forbidding: async () => Promise.reject(http(401)),
  throttling: async () => Promise.reject(http(429, 3000)),
  refusing: async () => Promise.reject(http(400)),
  hanging: hangs,
  partial: async () => ({ rejected: 1, message: "one is bad" }),
} satisfies Record<string, Backend>;

type State = keyof typeof BACKENDS;

const OPERATORS = ["open", "closed", "auto", "auto", "retryNow", "pause", "resume", "resume"] as const;

const records: fc.Arbitrary<readonly string[]> = fc.oneof(
  fc.constantFrom(["good"], ["good"], ["good"], ["poison"]),
  fc.array(fc.constantFrom("good", "good", "bad"), { minLength: 10, maxLength: 20, size: "max" }),
);

const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ send: records }) },
  { weight: 2, arbitrary: fc.record({ state: fc.constantFrom(...(Object.keys(BACKENDS) as State[])) }) },
  { weight: 6, arbitrary: fc.constant({ state: "well" as const }) },
  { weight: 12, arbitrary: fc.record({ wait: fc.oneof(fc.integer({ max: 3000, min: 1 }), fc.nat(40_000)) }) },
  { weight: 2, arbitrary: fc.record({ operator: fc.constantFrom(...OPERATORS) }) },
  { weight: 1, arbitrary: fc.record({ check: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ canWrite: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ replay: true }) },
  { weight: 1, arbitrary: fc.constant({ restart: true }) },
);
const steps = fc.array(step, { maxLength: 60, size: "max" });

const circuit_breaker = fc.record({
  enabled: fc.constantFrom(true, true, false),
  failure_threshold: fc.constantFrom(2, 8),
  failure_rate: fc.constantFrom(0, 0.5),
  minimum_calls: fc.constant(3),
  reset_timeout: fc.constantFrom("1s", "30s"),
  half_open_probes: fc.constantFrom(1, 2),
  on_open: fc.constantFrom("hold", "dead_letter"),
});

const retry_on_failure = fc.record({
  max_retries: fc.constantFrom(1, 5),
  max_elapsed_time: fc.constantFrom("0s", "60s"),
  hold_retries: fc.constantFrom(0, 1),
  poison: fc.record({ failures: fc.constant(2), min_successes: fc.constant(1), max_failure_rate: fc.constant(0.5) }),
  rate_limit: fc.record({
    per_second: fc.constantFrom(0.5, 100),
    burst: fc.constantFrom(1, 100, 100),
    on_excess: fc.constantFrom("delay", "dead_letter", "drop"),
  }),
});

const settings = fc.record({
  circuit_breaker,
  retry_on_failure,
  sending_queue: fc.record({ num_consumers: fc.constantFrom(1, 3), max_age: fc.constantFrom("0s", "0s", "30s") }),
  replay: fc.record({ ramp: fc.constantFrom("0s", "10s") }),
});

interface Options {
  readonly settings: Record<string, unknown>;
  readonly hasCheck: boolean;
  readonly isMerging: boolean;
}

const options: fc.Arbitrary<Options> = fc.record({ settings, hasCheck: fc.boolean(), isMerging: fc.boolean() });

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const CALM: Options = {
  settings: {
    circuit_breaker: { failure_threshold: 8, reset_timeout: "30s" },
    retry_on_failure: { max_retries: 5 },
    sending_queue: { num_consumers: 1 },
    replay: { ramp: "10s" },
  },
  hasCheck: false,
  isMerging: false,
};

const good = (times: number): Step[] => Array.from({ length: times }, () => ({ send: ["good"] }));
const during = (state: State, ...between: Step[]): Step[] => [{ state }, ...between, { state: "well" }];
const later: Step = { wait: 3000 };

/** One policy at a time has something to say, because random steps seldom have exactly one. */
const ALONE: [Step[], Options][] = [
  [
    [...during("forbidding", ...good(2), later, ...good(2), later, ...good(2)), { wait: 40_000 }, ...good(9), later],
    CALM,
  ],
  [[...during("down", ...good(9), later), { wait: 40_000 }, ...good(40), later, ...good(40), later], CALM],
  [[...during("down", ...good(2)), later, ...good(2), { restart: true }, ...good(2), later], CALM],
  [[...during("throttling", ...good(3)), later, ...good(3), later], CALM],
  [[...during("hanging", ...good(2), { wait: 40_000 }, ...good(2)), later, ...good(2), later], CALM],
  [
    [{ send: Array.from({ length: 64 }, (_, i) => (i % 8 === 7 ? "bad" : "good")) }, ...good(3), { wait: 40_000 }],
    CALM,
  ],
  [
    [...during("down", ...good(2), { restart: true }), later, ...good(2), later, { restart: true }, ...good(2), later],
    { ...CALM, settings: { ...CALM.settings, circuit_breaker: { enabled: false } } },
  ],
  [[{ operator: "open" }, ...good(2), later, { operator: "closed" }, later, ...good(2)], CALM],
  [
    [{ operator: "pause" }, ...good(2), { wait: 40_000 }, ...good(2), { operator: "resume" }, later],
    { ...CALM, settings: { ...CALM.settings, sending_queue: { num_consumers: 1, max_age: "30s" } } },
  ],
];

function operate(outlet: QueueOutlet, what: (typeof OPERATORS)[number]): void {
  if (what === "open" || what === "closed" || what === "auto") outlet.forceBreaker(what);
  else outlet[what]();
}

/** Can write no dead letters while told so. */
class FailingStore extends MemoryStore {
  canWrite = true;

  override async fail(...entry: Parameters<MemoryStore["fail"]>): Promise<void> {
    if (!this.canWrite) throw new Error("the disk is full");
    return super.fail(...entry);
  }
}

/** Everything but ids, which are random. */
const withoutIds = (value: unknown) =>
  JSON.parse(JSON.stringify(value, (key, each) => (/^(id|parent|deadLetter)$/.test(key) ? undefined : each)));

/** Plays the steps, and returns all that the queue did: calls, log lines, metrics, ends and the status after each step. */
async function play(
  given: readonly Step[],
  { settings, hasCheck, isMerging }: Options,
  onCreated: (outlet: QueueOutlet) => void,
) {
  const clock = new FakeClock();
  const store = new FailingStore({ exporter: "out" });
  const did: unknown[] = [];
  let state: State = "well";
  let [isHealthy, sent] = [true, 0];
  const backend: Backend = (bodies, ...more) => {
    did.push([clock.monotonic(), ...bodies]);
    if (state === "well" && bodies.some((body) => body.startsWith("bad"))) return BACKENDS.refusing();
    if (state === "well" && bodies.some((body) => body.startsWith("poison"))) return BACKENDS.broken();
    return BACKENDS[state](bodies, ...more);
  };
  const check = async () => {
    did.push([clock.monotonic(), "check"]);
    if (!isHealthy) throw http(503);
  };
  const start = () =>
    startQueue({
      ...{ clock, store, settings, backend, onCreated },
      ...(hasCheck && { check }),
      ...(isMerging && { batching: {} }),
    });
  let queue: Queue = await start();
  const note = () => {
    const { metrics, outlet, lines, taken } = queue;
    did.push(...lines.splice(0), ...taken.splice(0), outlet.status(), outlet.isAvailable);
    for (const name of metrics.names) did.push([name, metrics.value(name)]);
  };
  for (const each of given) {
    if ("send" in each) {
      sent += 1;
      queue.send(...each.send.map((kind, i) => `${kind} ${sent}.${i}`));
    }
    if ("state" in each) state = each.state;
    if ("wait" in each) await queue.pass(each.wait, Math.max(500, each.wait / 10));
    if ("operator" in each) operate(queue.outlet, each.operator);
    if ("check" in each) isHealthy = each.check;
    if ("canWrite" in each) store.canWrite = each.canWrite;
    if ("replay" in each) await queue.replayAll();
    if ("restart" in each) {
      await queue.settle();
      note();
      queue.outlet.abort();
      await queue.outlet.stop();
      queue = await start();
    }
    await queue.settle();
    note();
  }
  did.push(...(await queue.deadLetters()), ...(await queue.pending()));
  queue.outlet.abort();
  return did.map(withoutIds);
}

describe("the policies of a queue", () => {
  it("decide the same whether all are asked always or each only when it has something to say", async () => {
    await fc.assert(
      fc.asyncProperty(steps, options, async (given, options) => {
        expect(await play(given, options, () => {})).toEqual(await play(given, options, forceAll));
      }),
      { ...runs(60), examples: ALONE },
    );
  });

  it("keep an entry that is to be a dead letter from being sent when the breaker closes", async () => {
    const store = new FailingStore({ exporter: "out" });
    const settings = { circuit_breaker: { on_open: "dead_letter" }, replay: { ramp: "0s" } };
    const queue = await startQueue({ store, settings });
    store.canWrite = false;
    queue.outlet.forceBreaker("open");
    queue.send("a");
    await queue.settle();
    queue.outlet.forceBreaker("closed");
    store.canWrite = true;
    await queue.pass(10_000, 1000);
    expect(troubleOf(queue.outlet).bits).toBe(0);
    expect(queue.calls).toEqual([]);
    expect(await queue.deadLetters()).toHaveLength(1);
  });

  describe("while the backend takes everything", () => {
    afterEach(() => void vi.restoreAllMocks());

    it("are not asked at all", async () => {
      const queue = await startQueue();
      const asked = [Breaker, Ramp, Holds, FailurePolicy, Bisections, BackendMemory, Gate].flatMap(spyOnMethods);
      for (const body of numbers(20)) queue.send(body);
      await queue.settle();
      expect(queue.taken).toEqual(numbers(20));
      expect(asked.filter(({ spy }) => spy.mock.calls.length > 0).map(({ name }) => name)).toEqual([]);
      expect(queue.outlet.status()).toMatchObject({ failureRate: 0 });
    });

    it("have nothing to say again some time after an outage", async () => {
      let isDown = true;
      const backend: Backend = async () => {
        if (isDown) throw http(503);
        return undefined;
      };
      const queue = await startQueue({ backend });
      for (const body of numbers(20)) queue.send(body);
      await queue.settle();
      expect(troubleOf(queue.outlet).bits).toBe(POLICY.breaker | POLICY.memory);
      isDown = false;
      for (let i = 0; i < 120; i++) {
        await queue.pass(1000, 500);
        queue.send("later");
      }
      await queue.settle();
      expect(queue.taken).toHaveLength(140);
      expect(troubleOf(queue.outlet).bits).toBe(0);
    });
  });
});

describe("the breaker of a queue", () => {
  it("shows its state, its changes and what met it while it was open, in metrics and log", async () => {
    let isDown = true;
    const queue = await startQueue({
      backend: async () => {
        if (isDown) throw http(503);
        return undefined;
      },
    });
    const value = (name: string) => queue.metrics.value(`sluice_breaker_${name}`);
    for (let i = 0; i < 5; i++) queue.send("a");
    await queue.settle();
    expect([value("state"), value("opened"), value("closed"), value("rejected")]).toEqual([2, 1, 0, 0]);
    queue.send("b");
    queue.send("c");
    await queue.settle();
    expect(value("rejected")).toBe(2);
    isDown = false;
    await queue.pass(60_000, 1000);
    expect([value("state"), value("opened"), value("closed")]).toEqual([0, 1, 1]);
    const told = queue.lines.filter(({ message }) => message.startsWith("circuit breaker"));
    expect(told.map(({ level, message, fields }) => [level, message, fields.from, fields.to])).toEqual([
      ["warn", "circuit breaker: open", "closed", "open"],
      ["info", "circuit breaker: half open", "open", "half_open"],
      ["info", "circuit breaker: closed", "half_open", "closed"],
    ]);
    expect(told[0]?.fields).toMatchObject({ error: "HTTP 503", message: "HTTP 503: no" });
  });
});

describe("a call that fails", () => {
  it("is logged at once, then at most every ten seconds, and by the breaker once that is open", async () => {
    const queue = await startQueue({
      settings: { retry_on_failure: { initial_interval: "4s", multiplier: 1, jitter: "none" } },
      backend: async () => {
        throw http(503);
      },
    });
    queue.send("private");
    await queue.settle();
    const first = { error: "HTTP 503", blame: "backend", message: "HTTP 503: no", retryInMs: 4000, suppressed: 0 };
    const message = "sending failed; the data stays in the queue and is retried";
    expect(queue.lines).toEqual([{ level: "warn", message, fields: first }]);
    await queue.pass(12_000, 500);
    expect(queue.lines.slice(1)).toEqual([{ level: "warn", message, fields: { ...first, suppressed: 2 } }]);
    await queue.pass(60_000, 500);
    expect(queue.lines.filter((line) => line.message === message)).toHaveLength(2);
    expect(queue.lines[2]?.message).toBe("circuit breaker: open");
  });
});

interface Class {
  readonly name: string;
  readonly prototype: object;
}

/** Spies on all methods and getters of a class. */
function spyOnMethods({ name: of, prototype }: Class) {
  const members = Object.entries(Object.getOwnPropertyDescriptors(prototype)).filter(([key]) => key !== "constructor");
  return members.map(([key, { get }]) => ({
    name: `${of}.${key}`,
    spy: get ? vi.spyOn(prototype as never, key as never, "get") : vi.spyOn(prototype as never, key as never),
  }));
}
