import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { QueueItem } from "../../../src/extensions/reliability/entry/queue-item.js";
import { directoryNameOf, exporterOfDirectory } from "../../../src/extensions/reliability/operate/directory-name.js";
import { DelayQueue } from "../../../src/extensions/reliability/schedule/delay-queue.js";
import { CallTimeout } from "../../../src/extensions/reliability/send/call-timeout.js";
import type { Refusal } from "../../../src/plugin.js";
import { FakeClock } from "../../support/fake-clock.js";

describe("the directory of a queue", () => {
  it("has a name that leads back to its exporter and nowhere else", () => {
    expect(directoryNameOf("otlp_http/eu-west")).toBe("otlp_http%2feu-west");
    expect(directoryNameOf("OTLP/../x")).toMatch(/^[a-z0-9_%-]+$/);
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: "grapheme" }), (id) => {
        expect(exporterOfDirectory(directoryNameOf(id))).toBe(id);
        expect(directoryNameOf(id)).toMatch(/^[a-z0-9_%-]+$/);
      }),
    );
    expect(["a.b", "%", "A", "%41%zz"].map(exporterOfDirectory)).toEqual([undefined, undefined, undefined, undefined]);
  });
});

describe("waiting entries", () => {
  it("come out in the order they are due", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { maxLength: 100 }), fc.nat(1000), (times, until) => {
        const waiting = new DelayQueue();
        for (const dueAt of times) waiting.add({ dueAt } as QueueItem);
        const taken: number[] = [];
        for (let item = waiting.take(until); item !== undefined; item = waiting.take(until)) taken.push(item.dueAt);
        expect(taken).toEqual(times.filter((time) => time <= until).sort((a, b) => a - b));
        expect(waiting.size).toBe(times.length - taken.length);
      }),
    );
  });
});

describe("the timeout of calls", () => {
  it("ends each call in its time with one timer, and those that do not even give up a little later", () => {
    const clock = new FakeClock();
    const timeout = new CallTimeout("x", 1000, clock);
    const abandoned: string[] = [];
    const begin = (name: string) => timeout.begin((refusal: Refusal) => abandoned.push(`${name} ${refusal.code}`));
    const a = begin("a");
    clock.advance(400);
    const b = begin("b");
    const c = begin("c");
    expect(clock.pending).toBe(1);
    timeout.end(c);
    clock.advance(600);
    expect([a, b, c].map(({ controller }) => controller.signal.aborted)).toEqual([true, false, false]);
    expect(a.controller.signal.reason).toMatchObject({ code: "SLUICE_TIMEOUT", kind: "transient" });
    clock.advance(400);
    expect([b, c].map(({ controller }) => controller.signal.aborted)).toEqual([true, false]);
    clock.advance(1000);
    expect(abandoned).toEqual(["a SLUICE_TIMEOUT", "b SLUICE_TIMEOUT"]);
    expect(clock.pending).toBe(0);
  });

  it("uses a signal again that did not fire, for a while, and never one that did", () => {
    const clock = new FakeClock();
    const timeout = new CallTimeout("x", 1000, clock);
    const next = () => timeout.begin(() => {});
    const used = new Set<AbortController>();
    for (let i = 0; i < 640; i++) {
      const call = next();
      used.add(call.controller);
      timeout.end(call);
    }
    expect(used.size).toBe(10);
    const late = next();
    clock.advance(1000);
    timeout.end(late);
    expect(next().controller).not.toBe(late.controller);
  });

  it("waits for ever with 0", () => {
    const clock = new FakeClock();
    const call = new CallTimeout("x", 0, clock).begin(() => {});
    clock.advance(1e9);
    expect(call.controller.signal.aborted).toBe(false);
  });
});
