import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RowServices } from "../../../src/extensions/insight/row-services.js";

const votes = fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: 1, max: 9 })), { minLength: 1 });

function totals(list: readonly (readonly [string, number])[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const [service, records] of list) sums.set(service, (sums.get(service) ?? 0) + records);
  return sums;
}

describe("the service of a row", () => {
  it("is the one with more than half of the records, in whatever order they come", () => {
    fc.assert(
      fc.property(votes, (list) => {
        const services = new RowServices(1);
        for (const [service, records] of list) services.note(0, service, records);
        const sums = totals(list);
        const all = [...sums.values()].reduce((sum, records) => sum + records, 0);
        const [most] = [...sums].find(([, records]) => records * 2 > all) ?? [];
        expect(sums.has(services.serviceOf(0)!)).toBe(true);
        if (most !== undefined) expect(services.serviceOf(0)).toBe(most);
        expect(services.isShared(0)).toBe(sums.size > 1);
      }),
    );
  });

  it("is still known to be shared when two rows become one", () => {
    const services = new RowServices(2);
    services.note(0, "a", 5);
    services.note(1, "b", 2);
    services.merge(0, 1);
    expect([services.serviceOf(0), services.isShared(0)]).toEqual(["a", true]);
    services.forget(0);
    expect([services.serviceOf(0), services.isShared(0)]).toEqual([undefined, false]);
  });
});
