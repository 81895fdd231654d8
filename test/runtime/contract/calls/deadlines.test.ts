import fc from "fast-check";
import { expect, it } from "vitest";
import { type CallWithDeadline, Deadlines } from "../../../../src/runtime/contract/calls/direct-outlet.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { runs } from "../../../support/runs.js";

interface NumberedCall extends CallWithDeadline {
  readonly id: number;
}
const call = (id: number): NumberedCall => ({ id, deadline: 0, previous: undefined, next: undefined });

it("each call expires when its time is up and not before, unless it ended; one timer watches all of them", () => {
  const step = fc.oneof(fc.constant("begin"), fc.record({ end: fc.nat() }), fc.record({ pass: fc.nat(800) }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const clock = new FakeClock();
      const expired: [number, number][] = [];
      const deadlines = new Deadlines<NumberedCall>(clock, 1000, ({ id }) => expired.push([id, clock.monotonic()]));
      let running: { timed: NumberedCall; due: number }[] = [];
      const due: [number, number][] = [];
      let id = 0;
      for (const now of steps) {
        if (now === "begin") {
          const timed = call(id++);
          deadlines.add(timed);
          running.push({ timed, due: clock.monotonic() + 1000 });
        } else if (typeof now === "object" && "end" in now) {
          const ended = running.splice(now.end % (running.length + 1), 1)[0];
          if (ended !== undefined) deadlines.remove(ended.timed);
        } else if (typeof now === "object") {
          const until = clock.monotonic() + now.pass;
          clock.advance(now.pass);
          due.push(
            ...running.filter((one) => one.due <= until).map((one): [number, number] => [one.timed.id, one.due]),
          );
          running = running.filter((one) => one.due > until);
        }
        expect(clock.pending).toBeLessThanOrEqual(1);
        expect(deadlines.all().map((one) => one.id)).toEqual(running.map((one) => one.timed.id));
      }
      expect(expired).toEqual(due);
      deadlines.stop();
      expect(clock.pending).toBe(0);
    }),
    runs(200),
  );
});

it("without a limit nothing expires, and no timer runs", () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines<NumberedCall>(clock, 0, () => expect.unreachable());
  deadlines.add(call(1));
  clock.advance(1e9);
  expect(clock.pending).toBe(0);
  expect(deadlines.all()).toHaveLength(1);
});
