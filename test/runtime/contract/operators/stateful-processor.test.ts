import { Subject } from "rxjs";
import { describe, expect, it } from "vitest";
import {
  Delivery,
  type DeliveryHandlers,
  type DeliveryOutput,
  Refusal,
  statefulProcessor,
} from "../../../../src/plugin.js";
import { Debt, type Outcome } from "../../../../src/runtime/contract/debt.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";

/** A stateful processor between a source and a list of what happens. */
function run(create: (out: DeliveryOutput) => DeliveryHandlers) {
  const source = new Subject<Delivery>();
  const events: string[] = [];
  const subscription = statefulProcessor(create)(source).subscribe({
    next: ({ batch }) => void events.push(...bodies(batch)),
    error: (error) => void events.push(`error ${error.message}`),
    complete: () => void events.push("complete"),
  });
  const send = (text: string) => {
    const sent: { outcome?: Outcome } = {};
    const debt = new Debt((outcome) => (sent.outcome = outcome));
    source.next(new Delivery(logs(text), { receiver: "test", transport: "" }, debt));
    return sent;
  };
  return { source, events, subscription, send };
}

describe("a stateful processor", () => {
  it("starts fresh with each subscription", () => {
    let made = 0;
    const processor = statefulProcessor(() => ({ next: () => void made++ }));
    for (let i = 0; i < 2; i++) processor(new Subject<Delivery>()).subscribe();
    expect(made).toBe(0);
    const counts = [1, 2].map(() => {
      const { send, events } = run((out) => {
        let count = 0;
        return { next: (delivery) => out.next(delivery.with(logs(String(++count)))) };
      });
      send("a");
      send("b");
      return events;
    });
    expect(counts).toEqual([
      ["1", "2"],
      ["1", "2"],
    ]);
  });

  it("flushes what it holds when its input ends, and only then is complete", async () => {
    const order: string[] = [];
    const { source, send, events } = run((out) => {
      const held: Delivery[] = [];
      return {
        next: (delivery) => void held.push(delivery),
        async drain() {
          await Promise.resolve();
          for (const delivery of held) out.next(delivery);
        },
        abort: () => void order.push("abort"),
      };
    });
    send("a");
    send("b");
    expect(events).toEqual([]);
    source.complete();
    await new Promise((resolve) => setImmediate(resolve));
    expect(events).toEqual(["a", "b", "complete"]);
    expect(order).toEqual([]);
  });

  it("completes at once when it has nothing to do for that", () => {
    const { source, events } = run(() => ({ next: () => {} }));
    source.complete();
    expect(events).toEqual(["complete"]);
  });

  it("aborts when it is unsubscribed, also while it drains", () => {
    const aborted: string[] = [];
    const handlers = (name: string): DeliveryHandlers => ({
      next: () => {},
      drain: () => new Promise(() => {}),
      abort: () => void aborted.push(name),
    });
    const [idle, draining] = ["idle", "draining"].map((name) => run(() => handlers(name)));
    idle!.subscription.unsubscribe();
    draining!.source.complete();
    draining!.subscription.unsubscribe();
    expect(aborted).toEqual(["idle", "draining"]);
  });

  it("refuses the delivery it throws on, and goes on", () => {
    const { send, events } = run((out) => ({
      next(delivery) {
        if (bodies(delivery.batch)[0] === "bad") throw new Refusal("permanent", "never");
        out.next(delivery);
      },
    }));
    expect(send("bad").outcome).toMatchObject({ ok: false, refusal: { kind: "permanent", message: "never" } });
    send("good");
    expect(events).toEqual(["good"]);
  });

  it("fails as a whole when it throws on a delivery that it has split, or while it drains", async () => {
    const split = run(() => ({
      next(delivery) {
        delivery.split([logs("a"), logs("b")]);
        throw new Error("amid it");
      },
      abort: () => void split.events.push("abort"),
    }));
    split.send("ab");
    expect(split.events).toEqual(["error amid it", "abort"]);
    for (const drain of [
      () => Promise.reject(new Error("late")),
      () => {
        throw new Error("late");
      },
    ]) {
      const { source, events } = run(() => ({ next: () => {}, drain }));
      source.complete();
      await new Promise((resolve) => setImmediate(resolve));
      expect(events).toEqual(["error late"]);
    }
  });
});
