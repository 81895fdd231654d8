import { describe, expect, it } from "vitest";
import { Refusal } from "../../../src/plugin.js";
import { ACCEPTED, Debt, HeldDebts } from "../../../src/runtime/contract/debt.js";
import { Delivery } from "../../../src/runtime/contract/delivery.js";
import { owed } from "../../support/deliveries.js";
import { liveHeap } from "../../support/live-heap.js";
import { logs } from "../../support/telemetry/batches.js";

const transient = new Refusal("transient", "not now");
const permanent = new Refusal("permanent", "never");

describe("a delivery", () => {
  it("settles once and ignores what comes after", () => {
    const { delivery, outcomes } = owed(logs("a"));
    delivery.accept();
    delivery.refuse(transient);
    delivery.accept();
    expect(outcomes).toEqual([ACCEPTED]);
  });

  it("is settled when all parts of a split are, and refused if one of them is", () => {
    const { delivery, outcomes } = owed(logs("a", "b"));
    const [a, b] = delivery.split([logs("a"), logs("b")]) as [Delivery, Delivery];
    a.refuse(permanent);
    expect(outcomes).toEqual([]);
    b.accept();
    expect(outcomes).toEqual([{ ok: false, refusal: permanent }]);
  });

  it("is settled when all parts are, also those of a second split", () => {
    const { delivery, outcomes } = owed(logs("a", "b"));
    const pieces = [logs("a"), logs("b")];
    const [once, again] = [delivery.split(pieces), delivery.split(pieces)];
    for (const part of once) part.accept();
    expect(outcomes).toEqual([]);
    for (const part of again) part.refuse(transient);
    expect(outcomes).toEqual([{ ok: false, refusal: transient }]);
  });

  it("is settled once when it was merged with itself", () => {
    const { delivery, outcomes } = owed(logs("a"));
    Delivery.merge([delivery, delivery.with(logs("b"))], logs("a", "b")).accept();
    expect(outcomes).toEqual([ACCEPTED]);
  });

  it("is accepted by a split into nothing, which is a deliberate drop", () => {
    const { delivery, outcomes } = owed(logs("a"));
    expect(delivery.split([])).toEqual([]);
    expect(outcomes).toEqual([ACCEPTED]);
  });

  it("comes back when it is refused, and is settled by the last one to take it", () => {
    const { delivery, outcomes } = owed(logs("a"));
    const back: [Delivery, Refusal][] = [];
    const first = delivery.catchRefusal((again, refusal) => back.push([again, refusal]));
    first.refuse(permanent);
    first.accept();
    delivery.accept();
    expect(outcomes).toEqual([]);
    expect(back).toHaveLength(1);
    const [again, refusal] = back[0]!;
    expect(refusal).toBe(permanent);
    expect(again.batch).toBe(delivery.batch);
    again.refuse(transient);
    again.accept();
    expect(outcomes).toEqual([{ ok: false, refusal: transient }]);
  });

  it("does not come back when it is accepted", () => {
    const { delivery, outcomes } = owed(logs("a"));
    const first = delivery.catchRefusal((again) => again.refuse(transient));
    first.accept();
    first.refuse(permanent);
    expect(outcomes).toEqual([ACCEPTED]);
  });

  it("comes back once for all branches it was given to", () => {
    const { delivery, outcomes } = owed(logs("a"));
    let returns = 0;
    const first = delivery.catchRefusal((again) => {
      returns++;
      again.accept();
    });
    const [a, b, c] = first.copies(3) as [Delivery, Delivery, Delivery];
    a.refuse(transient);
    b.accept();
    expect([returns, outcomes]).toEqual([0, []]);
    c.refuse(permanent);
    expect([returns, outcomes]).toEqual([1, [ACCEPTED]]);
  });

  it("is refused when the handler of its refusal throws, and the refusing side does not notice", () => {
    const { delivery, outcomes } = owed(logs("a"));
    const first = delivery.catchRefusal(() => {
      throw new Error("a mistake");
    });
    first.refuse(permanent);
    expect(outcomes).toMatchObject([{ ok: false, refusal: { kind: "transient", message: "a mistake" } }]);
  });

  it("does not come back to a sender who was answered before", () => {
    const { delivery, outcomes } = owed(logs("a"));
    delivery.refuse(permanent);
    delivery.catchRefusal((again) => again.accept()).refuse(transient);
    expect(outcomes).toEqual([{ ok: false, refusal: permanent }]);
  });

  it("says of clients only what is true of all whose data it has", () => {
    const from = (metadata: Record<string, string[]> | undefined) =>
      new Delivery(
        logs("a"),
        { receiver: "r", transport: "t", ...(metadata && { metadata: new Map(Object.entries(metadata)) }) },
        owed(logs("a")).delivery.debt,
      );
    const merged = (...deliveries: Delivery[]) => Delivery.merge(deliveries, logs("a", "b")).origin;
    const [acme, globex] = [from({ tenant: ["acme"], host: ["h"] }), from({ tenant: ["globex"], host: ["h"] })];
    expect(merged(acme, globex)).toEqual({ receiver: "r", transport: "t", metadata: new Map([["host", ["h"]]]) });
    expect(merged(acme, from({ tenant: ["acme"], host: ["h"] })).metadata).toEqual(acme.origin.metadata);
    expect(merged(acme, acme).metadata).toBe(acme.origin.metadata);
    expect(merged(acme, from(undefined)).metadata).toBeUndefined();
    expect(merged(from(undefined), acme).metadata).toBeUndefined();
  });

  it("settles all it was merged from", () => {
    const [a, b] = [owed(logs("a")), owed(logs("b"))];
    Delivery.merge([a.delivery, b.delivery], logs("a", "b")).refuse(transient);
    expect([...a.outcomes, ...b.outcomes]).toEqual([
      { ok: false, refusal: transient },
      { ok: false, refusal: transient },
    ]);
  });

  it("cannot be settled any more once its debt has moved on", () => {
    const a = owed(logs("a"));
    const merged = Delivery.merge([a.delivery, owed(logs("b")).delivery], logs("a", "b"));
    a.delivery.accept();
    expect(a.outcomes).toEqual([]);
    merged.refuse(transient);
    expect(a.outcomes).toHaveLength(1);
  });

  it("is not settled twice by parts of a debt that was settled before it was divided", () => {
    const { delivery, outcomes } = owed(logs("a", "b"));
    delivery.refuse(transient);
    for (const part of delivery.split([logs("a"), logs("b")])) part.accept();
    expect(outcomes).toHaveLength(1);
  });

  it("prefers a retryable refusal to a permanent one, and the longest wait", () => {
    const { delivery, outcomes } = owed(logs("a"));
    const later = new Refusal("throttled", "later", { retryAfterMs: 9 });
    const [a, b, c] = delivery.split([logs("a"), logs("a"), logs("a")]) as [Delivery, Delivery, Delivery];
    a.refuse(permanent);
    b.refuse(later);
    c.refuse(transient);
    expect(outcomes).toEqual([{ ok: false, refusal: later }]);
  });

  it("adds up what pieces had rejected, and takes the larger count of copies", () => {
    const rejecting = (parts: readonly Delivery[]) => {
      parts[0]!.accept({ rejected: 1, message: "bad" });
      parts[1]!.accept({ rejected: 2, message: "bad" });
    };
    const [cut, copied] = [owed(logs("a", "b", "c")), owed(logs("a", "b", "c"))];
    rejecting(cut.delivery.split([logs("a"), logs("b", "c")]));
    rejecting(copied.delivery.copies(2));
    expect(cut.outcomes).toEqual([{ ok: true, rejected: 3, message: "bad" }]);
    expect(copied.outcomes).toEqual([{ ok: true, rejected: 2, message: "bad" }]);
  });

  it("passes a partial rejection on, but gives no sender of a merged batch a count", () => {
    const alone = owed(logs("a"));
    alone.delivery.accept({ rejected: 1, message: "bad" });
    expect(alone.outcomes).toEqual([{ ok: true, rejected: 1, message: "bad" }]);
    const [a, b] = [owed(logs("a")), owed(logs("b"))];
    Delivery.merge([a.delivery, b.delivery], logs("a", "b")).accept({ rejected: 1, message: "bad" });
    expect(a.outcomes[0]).toMatchObject({ ok: true, rejected: 0, message: expect.stringContaining("bad") });
    expect(b.outcomes[0]).toMatchObject({ ok: true, rejected: 0 });
  });
});

describe("held debts", () => {
  it("are followed through split and merge, and just those inside are refused", () => {
    const held = new HeldDebts();
    const [a, b, c] = [owed(logs("a")), owed(logs("b")), owed(logs("c"))];
    for (const { delivery } of [a, b, c]) held.add(delivery.debt);
    const parts = a.delivery.split([logs("a"), logs("a")]);
    const merged = Delivery.merge([parts[1]!, b.delivery], logs("x"));
    expect(held.size).toBe(3);
    held.remove(merged.debt);
    c.delivery.accept();
    expect(held.refuseAll(transient)).toBe(1);
    expect(a.outcomes).toEqual([]);
    merged.accept();
    expect(a.outcomes).toEqual([{ ok: false, refusal: transient }]);
    expect(b.outcomes).toEqual([ACCEPTED]);
  });

  it("holds a merged debt whose first part was settled before", () => {
    const heldDebts = new HeldDebts();
    const [a, b] = [owed(logs("a")), owed(logs("b"))];
    for (const { delivery } of [a, b]) heldDebts.add(delivery.debt);
    a.delivery.accept();
    Delivery.merge([a.delivery, b.delivery], logs("a", "b"));
    expect(heldDebts.refuseAll(transient)).toBe(1);
    expect(b.outcomes).toEqual([{ ok: false, refusal: transient }]);
  });

  it("holds what comes back into the component by a caught refusal", () => {
    const heldDebts = new HeldDebts();
    const { delivery, outcomes } = owed(logs("a"));
    heldDebts.add(delivery.debt);
    const first = delivery.catchRefusal(() => {});
    heldDebts.remove(first.debt);
    first.refuse(permanent);
    expect(outcomes).toEqual([]);
    heldDebts.refuseAll(transient);
    expect(outcomes).toEqual([{ ok: false, refusal: transient }]);
  });

  it("lets a refusal through to the sender once the component that would have caught it has ended", () => {
    const heldDebts = new HeldDebts();
    const { delivery, outcomes } = owed(logs("a"));
    heldDebts.add(delivery.debt);
    const first = delivery.catchRefusal(() => {});
    heldDebts.remove(first.debt);
    heldDebts.close(transient);
    first.refuse(permanent);
    expect(outcomes).toEqual([{ ok: false, refusal: permanent }]);
  });

  it("does not take the mistake of another for that of the component it comes back to", () => {
    const unexpected: Refusal[] = [];
    const heldDebts = new HeldDebts({
      mapRefusal(refusal) {
        if (refusal.unexpected) unexpected.push(refusal);
        return refusal;
      },
    });
    const { delivery, outcomes } = owed(logs("a"));
    heldDebts.add(delivery.debt);
    const first = delivery.catchRefusal((again, refusal) => again.refuse(refusal));
    heldDebts.remove(first.debt);
    first.refuse(new Error("a mistake of the exporter"));
    expect(outcomes).toMatchObject([{ ok: false, refusal: { message: "a mistake of the exporter" } }]);
    expect(unexpected).toEqual([]);
  });
});

describe("a debt that is settled", () => {
  it("holds nothing of those who waited for it, so that what still holds the debt does not hold their batch", async () => {
    const waiting = () => {
      const batch = logs("a");
      return { debt: new Debt(() => batch.count), batch: new WeakRef(batch) };
    };
    const { debt, batch } = waiting();
    const [part] = debt.divide(1);
    await new Promise(setImmediate);
    liveHeap();
    expect(batch.deref()).toBeDefined();
    part!.settle(ACCEPTED);
    await new Promise(setImmediate);
    liveHeap();
    expect(batch.deref()).toBeUndefined();
    expect([debt.outcome, part!.outcome]).toEqual([ACCEPTED, ACCEPTED]);
  });
});
