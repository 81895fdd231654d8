import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AttemptError } from "../../../../src/runtime/contract/operations/entry.js";
import { completeSettings } from "../../../../src/runtime/contract/schema/exporter-settings.js";
import type { FailedCall, QueueItem } from "../../../../src/runtime/queue/entry/queue-item.js";
import { PoisonDetector, poisonVerdict } from "../../../../src/runtime/queue/send/poison-detector.js";
import { Successes } from "../../../../src/runtime/queue/send/recent-calls.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { runs } from "../../../support/runs.js";

const error = (name: string, more: Partial<AttemptError> = {}): AttemptError => ({
  ...{ kind: "transient", class: name, message: "", code: "", blame: "entry" },
  ...more,
});
const ANSWER = error("HTTP 500", { status: "HTTP 500" });
const TIMEOUT: AttemptError = { kind: "transient", class: "SLUICE_TIMEOUT", message: "", code: "SLUICE_TIMEOUT" };
const ofBackend = (name: string) => error(name, { blame: "backend", status: name });
const UNREADABLE = error("SLUICE_UNREADABLE_ANSWER", { blame: "backend", code: "SLUICE_UNREADABLE_ANSWER" });

const DEFAULTS = completeSettings().retry_on_failure.poison;

type Tracked = Pick<QueueItem, "failedCalls">;

function watch(settings: Partial<typeof DEFAULTS> = {}) {
  const clock = new FakeClock();
  const successes = new Successes(clock);
  const detector = new PoisonDetector({ ...DEFAULTS, ...settings }, clock, successes);
  const entry: Tracked = { failedCalls: undefined };
  return {
    clock,
    detector,
    successes,
    entry,
    fails: (why = ANSWER, tookMs = 0) => detector.callFailed([entry], why, tookMs),
    othersSucceed(count: number, entries = 1) {
      for (let i = 0; i < count; i++) successes.add(entries);
    },
    othersFail(count: number) {
      for (let i = 0; i < count; i++) detector.callFailed([{ failedCalls: undefined }], ANSWER);
    },
  };
}

describe("poison", () => {
  it.each([
    ["an answer", ANSWER],
    ["a thrown error", error("TypeError")],
    ["a timeout", TIMEOUT],
    ["a reset connection", ofBackend("ECONNRESET")],
    ["a closed connection", ofBackend("UND_ERR_SOCKET")],
    ["an answer that is not HTTP", ofBackend("HPE_INVALID_CONSTANT")],
    ["an answer of a proxy whose backend crashes", ofBackend("HTTP 502")],
    ["an answer of gRPC", ofBackend("UNAVAILABLE")],
    ["a success that cannot be read", UNREADABLE],
  ])("is an entry with three failures alike in a minute while 20 others are delivered: %s", (_what, why) => {
    const { clock, fails, othersSucceed } = watch();
    const verdicts = [0, 1, 2].map(() => {
      clock.advance(20_000);
      const verdict = fails(why);
      othersSucceed(10);
      return verdict;
    });
    expect(verdicts).toEqual(["no", "no", "poison"]);
  });

  it("is an entry whose calls hang for longer than the window", () => {
    const { clock, fails, othersSucceed } = watch();
    const verdicts = [0, 1, 2].map(() => {
      clock.advance(1_000 + 45_000);
      const verdict = fails(TIMEOUT, 45_000);
      othersSucceed(10);
      return verdict;
    });
    expect(verdicts).toEqual(["no", "no", "poison"]);
  });

  it.each([
    ["no connection", ofBackend("ECONNREFUSED")],
    ["no name", ofBackend("ENOTFOUND")],
    ["no trust", ofBackend("CERT_HAS_EXPIRED")],
    ["throttling", ofBackend("HTTP 429")],
    ["throttling with a wait", error("HTTP 503", { kind: "throttled" })],
    ["a full disk", ofBackend("ENOSPC")],
    ["an exporter that blames the backend", error("unknown", { blame: "backend" })],
    ["a config that blames the backend", ofBackend("HTTP 500")],
  ])("is not an entry that cannot have caused its failure: %s", (_what, why) => {
    const { fails, othersSucceed } = watch();
    for (let i = 0; i < 10; i++) {
      expect(fails(why)).toBe("no");
      othersSucceed(1000);
    }
  });

  it.each([
    [{}, 10, "poison"],
    [{}, 9, "no"],
    [{ min_successes: 21 }, 10, "no"],
    [{ min_successes: 1 }, 1, "poison"],
    [{ failures: 4 }, 100, "no"],
    [{ window: 39_000 }, 100, "no"],
    [{ enabled: false }, 100, "no"],
  ] as const)("is what %j says, with %i deliveries between two failures 20 s apart", (settings, successes, verdict) => {
    const { clock, fails, othersSucceed } = watch(settings);
    const verdicts = [0, 1, 2].map(() => {
      clock.advance(20_000);
      const found = fails();
      othersSucceed(successes);
      return found;
    });
    expect(verdicts).toEqual(["no", "no", verdict]);
  });

  it("counts the entries of merged requests, since the first failure of the entry", () => {
    const { clock, fails, othersSucceed } = watch();
    fails();
    othersSucceed(1, 18);
    clock.advance(200_000);
    fails();
    othersSucceed(1);
    fails();
    othersSucceed(1);
    expect(fails()).toBe("poison");
  });

  it("is not an entry if more than one in ten of the other calls failed meanwhile", () => {
    for (const [succeeded, failed, verdict] of [
      [45, 5, "poison"],
      [45, 6, "no"],
    ] as const) {
      const { fails, othersSucceed, othersFail } = watch();
      const verdicts = [0, 1, 2].map(() => {
        const found = fails();
        othersSucceed(succeeded);
        othersFail(failed);
        return found;
      });
      expect(verdicts).toEqual(["no", "no", verdict]);
    }
  });

  it("is not an entry if few others fail between its failures, but many did in the last minute", () => {
    for (const [secondsAgo, verdict] of [
      [50, "no"],
      [70, "poison"],
    ] as const) {
      const { clock, fails, othersSucceed, othersFail } = watch();
      othersSucceed(20);
      othersFail(20);
      clock.advance(secondsAgo * 1000 - 3000);
      const verdicts = [0, 1, 2].map(() => {
        clock.advance(1000);
        const found = fails();
        othersSucceed(20);
        return found;
      });
      expect(verdicts).toEqual(["no", "no", verdict]);
    }
  });

  it("is an entry whose failures differ as soon as three are alike", () => {
    const { fails, othersSucceed } = watch();
    const verdicts = ["ECONNRESET", "EPIPE", "ECONNRESET", "EPIPE", "ECONNRESET"].map((code) => {
      othersSucceed(20);
      return fails(ofBackend(code));
    });
    expect(verdicts).toEqual(["no", "no", "no", "no", "poison"]);
  });

  it("needs a success since the entry's previous failure, of any other call or of a health check", () => {
    const { detector, fails, othersSucceed } = watch();
    fails();
    othersSucceed(20);
    expect([fails(), fails(), fails()]).toEqual(["no", "unproven", "unproven"]);
    detector.checkSucceeded();
    expect(fails()).toBe("poison");
    expect(fails()).toBe("unproven");
    othersSucceed(1);
    expect(fails()).toBe("poison");
  });

  it("may be an entry that failed together with others, once it has failed three times alone", () => {
    const { detector, entry, fails, othersSucceed } = watch();
    const together = () => detector.callFailed([entry, { failedCalls: undefined }], ANSWER);
    expect([together(), together(), together(), together()]).toEqual(Array(4).fill("no"));
    othersSucceed(10);
    const verdicts = [0, 1, 2].map(() => {
      othersSucceed(10);
      return fails();
    });
    expect(verdicts).toEqual(["no", "no", "poison"]);
  });
});

/** What happens to the calls of an exporter, in order. Entry 0 is the one that is looked at. */
type Event =
  | { readonly kind: "success"; readonly entries: number }
  | { readonly kind: "failure"; readonly own: boolean; readonly error: AttemptError }
  | { readonly kind: "check" }
  | { readonly kind: "wait"; readonly ms: number };

const failures = (own: boolean) =>
  fc.record({
    kind: fc.constant("failure" as const),
    own: fc.constant(own),
    error: fc.constantFrom(ANSWER, ANSWER, TIMEOUT, ofBackend("ECONNRESET"), ofBackend("ECONNREFUSED")),
  });
const wait = fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 25_000 }) });
const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant("success" as const), entries: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 4, arbitrary: failures(true) },
  { weight: 1, arbitrary: failures(false) },
  { weight: 1, arbitrary: fc.constant({ kind: "check" as const }) },
  { weight: 1, arbitrary: wait },
);

interface Verdict {
  readonly verdict: string;
  /** The events up to this failure, with their times. */
  readonly before: readonly { readonly event: Event; readonly at: number }[];
}

function play(events: readonly Event[]): Verdict[] {
  const { clock, detector, successes, fails } = watch();
  const before: { event: Event; at: number }[] = [];
  const verdicts: Verdict[] = [];
  for (const each of events) {
    if (each.kind === "wait") clock.advance(each.ms);
    before.push({ event: each, at: clock.monotonic() });
    if (each.kind === "success") successes.add(each.entries);
    if (each.kind === "check") detector.checkSucceeded();
    if (each.kind === "failure" && !each.own) detector.callFailed([{ failedCalls: undefined }], each.error);
    if (each.kind === "failure" && each.own) verdicts.push({ verdict: fails(each.error), before: [...before] });
  }
  return verdicts;
}

/** The documented rule, computed from all events. */
function isAllowedByTheRule(before: Verdict["before"]): boolean {
  const { event: last, at } = before.at(-1)!;
  if (last.kind !== "failure" || last.error.class === "ECONNREFUSED") return false;
  const isOwn = (each: Event) => each.kind === "failure" && each.own;
  const isAlike = (each: Event) => each.kind === "failure" && each.own && each.error.class === last.error.class;
  const alike = [...before.keys()].filter((i) => isAlike(before[i]!.event) && at - before[i]!.at <= 60_000);
  const since = (i: number) => before.slice(i + 1).map(({ event: each }) => each);
  const own = [...before.keys()].filter((i) => isOwn(before[i]!.event));
  if (alike.length < 3) return false;
  const succeeded = since(alike[0]!).filter(({ kind }) => kind === "success").length;
  const failed = since(alike[0]!).filter((each) => each.kind === "failure" && !each.own).length;
  const delivered = since(own[0]!).reduce((sum, each) => sum + (each.kind === "success" ? each.entries : 0), 0);
  const hasProof = since(own.at(-2)!).some(({ kind }) => kind === "success" || kind === "check");
  return delivered >= 20 && failed <= 0.1 * (failed + succeeded) && hasProof;
}

describe("over every history of calls", () => {
  it("an entry is poison only if the documented conditions are true", () => {
    let found = 0;
    fc.assert(
      // No more failures than are remembered, so that the rule can be computed from all of them.
      fc.property(fc.array(event, { maxLength: 60, size: "max" }), (events) => {
        const verdicts = play(events).slice(0, 16);
        const poison = verdicts.filter(({ verdict }) => verdict === "poison");
        expect(poison.filter(({ before }) => !isAllowedByTheRule(before))).toEqual([]);
        found += poison.length;
      }),
      runs(300),
    );
    expect(found).toBeGreaterThan(0);
  });

  it("an outage in which nothing succeeds makes no poison after the entry's first failure in it", () => {
    const outage = fc.array(fc.oneof(failures(true), failures(false), wait), { maxLength: 60, size: "max" });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60, size: "max" }), outage, (before, during) => {
        const all = play([...before, ...during]);
        const inOutage = all.slice(play(before).length);
        expect(inOutage.slice(1).filter(({ verdict }) => verdict === "poison")).toEqual([]);
      }),
      runs(300),
    );
  });

  it("an entry that has failed only since an outage began is not poison", () => {
    const call = fc.record({ at: fc.nat(60_000), failed: fc.nat(5), own: fc.boolean() });
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 30 }), (calls) => {
        const before = { succeeded: 0, failed: 0 };
        const counts = { class: "HTTP 500", tookMs: 0, before, delivered: 7, succeeded: 7, proofs: 7 };
        let failed = 0;
        const own: FailedCall[] = calls.map((each) => ({
          ...counts,
          at: each.at,
          failed: (failed += each.failed + 1),
        }));
        expect(poisonVerdict(own[0]!, own, DEFAULTS)).toBe("no");
      }),
      runs(100),
    );
  });
});
