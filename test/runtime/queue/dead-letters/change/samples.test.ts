import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Entry } from "../../../../../src/runtime/contract/operations/entry.js";
import { sampleOf, shortenBoth } from "../../../../../src/runtime/queue/dead-letters/change/samples.js";
import { logs } from "../../../../support/telemetry/batches.js";

const entry = { id: "a-1", exporter: "a" } as Entry;

describe("a sample", () => {
  it("is short where both sides are long, and differs where they differ", async () => {
    const [before, after] = shortenBoth({ text: "y".repeat(10_000_000) }, { text: `${"y".repeat(9_999_999)}z` });
    expect(JSON.stringify(before).length).toBeLessThan(1000);
    expect(before).not.toEqual(after);
    const items = Array.from({ length: 1000 }, (_, i) => i);
    const [old, next] = shortenBoth(items, items.with(900, -1)) as [unknown[], unknown[]];
    expect([old, next]).toEqual([
      [900, "… 999 more"],
      [-1, "… 999 more"],
    ]);
  });

  it("differs exactly when the values do", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (before, after) => {
        const [a, b] = shortenBoth(before, after).map((each) => JSON.stringify(each));
        const isSame = JSON.stringify(before) === JSON.stringify(after);
        if (isSame) expect(a).toBe(b);
        expect(shortenBoth(before, before).map((each) => JSON.stringify(each))[0]).toBe(
          JSON.stringify(shortenBoth(before, before)[1]),
        );
      }),
    );
  });

  it("is not shown when it cannot be masked, and not made when it is too large", async () => {
    const refuses = () => Promise.reject(new Error("no"));
    expect(await sampleOf(entry, logs("secret"), { batch: logs("secret") }, refuses)).toEqual({
      ...{ id: "a-1", exporter: "a", masked: true },
      note: "not shown, because it cannot be masked",
    });
    const large = logs("y".repeat(5_000_000));
    expect(await sampleOf(entry, large, { batch: large }, undefined)).toMatchObject({ note: /too large/ });
  });
});
