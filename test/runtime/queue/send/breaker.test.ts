import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { completeSettings } from "../../../../src/runtime/contract/schema/exporter-settings.js";
import type { BreakerState } from "../../../../src/runtime/queue/entry/queue-metrics.js";
import { Breaker } from "../../../../src/runtime/queue/send/breaker.js";
import type { BreakerOutcome, Permit } from "../../../../src/runtime/queue/send/policy.js";
import { FakeClock } from "../../../support/fake-clock.js";

const defaults = completeSettings().circuit_breaker;

/** Takes a permit if nothing blocks. */
const acquire = (it: Breaker) => (it.blocks() === undefined ? it.take() : undefined);

function breaker(own: Partial<typeof defaults> = {}) {
  const clock = new FakeClock();
  const changes: string[] = [];
  const it = new Breaker({ ...defaults, ...own }, clock, (to, from) => changes.push(`${from}>${to}`));
  const call = (result: BreakerOutcome) => {
    const permit = acquire(it);
    if (permit !== undefined) it.report(permit, result);
    return permit;
  };
  return { it, clock, changes, call };
}

describe("the circuit breaker", () => {
  it("opens after five failures in a row", () => {
    const { it, call } = breaker();
    for (let i = 0; i < 4; i++) call("failure");
    call("success");
    for (let i = 0; i < 4; i++) call("failure");
    expect(it.state).toBe("closed");
    call("failure");
    expect(it.state).toBe("open");
    expect(acquire(it)).toBeUndefined();
    expect(it.waitMs).toBe(30_000);
  });

  it("does not count permanent refusals", () => {
    const { it, call } = breaker();
    for (let i = 0; i < 100; i++) call("answered");
    for (let i = 0; i < 4; i++) call("failure");
    call("answered");
    expect(it.state).toBe("closed");
    call("failure");
    expect(it.state).toBe("open");
  });

  it("admits one probe at a time when half open, and closes after two good ones", () => {
    const { it, clock, changes, call } = breaker();
    for (let i = 0; i < 5; i++) call("failure");
    clock.advance(29_999);
    expect(acquire(it)).toBeUndefined();
    clock.advance(1);
    const probe = acquire(it)!;
    expect(probe.probe).toBe(true);
    expect(acquire(it)).toBeUndefined();
    it.report(probe, "success");
    expect(it.state).toBe("half_open");
    call("answered");
    expect(it.state).toBe("closed");
    expect(changes).toEqual(["closed>open", "open>half_open", "half_open>closed"]);
  });

  it("opens again when a probe fails", () => {
    const { it, clock, call } = breaker();
    for (let i = 0; i < 5; i++) call("failure");
    clock.advance(30_000);
    call("failure");
    expect(it.state).toBe("open");
    expect(it.waitMs).toBe(30_000);
  });

  it("ignores what comes back from before the last change", () => {
    const { it, clock, call } = breaker();
    const old = acquire(it)!;
    for (let i = 0; i < 5; i++) call("failure");
    it.report(old, "failure");
    clock.advance(30_000);
    const probe = acquire(it)!;
    it.report(old, "failure");
    expect(it.state).toBe("half_open");
    it.report(probe, "success");
    call("success");
    expect(it.state).toBe("closed");
  });

  it("opens on the share of failures too, when told to", () => {
    const { it, clock, call } = breaker({ failure_rate: 0.5, minimum_calls: 10 });
    const mixed = () => {
      call("success");
      call("failure");
    };
    for (let i = 0; i < 4; i++) mixed();
    clock.advance(61_000);
    for (let i = 0; i < 4; i++) mixed();
    expect(it.state).toBe("closed");
    mixed();
    expect(it.state).toBe("open");
  });

  it("stays as it is forced until it may decide again", () => {
    const { it, clock, changes, call } = breaker();
    it.force("open");
    clock.advance(1e6);
    expect([acquire(it), it.forced, it.waitMs]).toEqual([undefined, true, undefined]);
    it.force("auto");
    expect(acquire(it)?.probe).toBe(true);
    it.force("closed");
    for (let i = 0; i < 20; i++) call("failure");
    expect(it.state).toBe("closed");
    expect(changes).toEqual(["closed>open", "open>half_open", "half_open>closed"]);
  });

  it("never opens when it is off", () => {
    const { it, call } = breaker({ enabled: false });
    for (let i = 0; i < 50; i++) call("failure");
    expect(it.state).toBe("closed");
  });

  it("behaves like its model", () => {
    const step = fc.oneof(
      fc
        .constantFrom("success", "failure", "answered", "cancelled")
        .map((result) => ({ result: result as BreakerOutcome })),
      fc.nat(40_000).map((ms) => ({ ms })),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const { it, clock, call } = breaker();
        let state = "closed" as BreakerState;
        let [failures, good, until] = [0, 0, 0];
        const open = () => {
          state = "open";
          until = clock.monotonic() + 30_000;
        };
        for (const each of steps) {
          if ("ms" in each) {
            clock.advance(each.ms);
            continue;
          }
          const answer = call(each.result);
          if (state === "open" && clock.monotonic() >= until) [state, good] = ["half_open", 0];
          if (state === "open") expect(answer).toBeUndefined();
          else if (state === "half_open") {
            if (each.result === "failure") open();
            else if (each.result !== "cancelled" && ++good === 2) [state, failures] = ["closed", 0];
          } else if (each.result === "success") failures = 0;
          else if (each.result === "failure" && ++failures === 5) {
            open();
            failures = 0;
          }
          expect(it.state).toBe(state);
        }
      }),
    );
  });

  it("gives every probe back that was cancelled", () => {
    const { it, clock, call } = breaker({ half_open_probes: 2 });
    for (let i = 0; i < 5; i++) call("failure");
    clock.advance(30_000);
    const probes: (Permit | undefined)[] = [acquire(it), acquire(it), acquire(it)];
    expect(probes.map((probe) => probe?.probe)).toEqual([true, true, undefined]);
    for (const probe of probes) if (probe) it.report(probe, "cancelled");
    expect(it.state).toBe("half_open");
    expect(acquire(it)?.probe).toBe(true);
  });
});
