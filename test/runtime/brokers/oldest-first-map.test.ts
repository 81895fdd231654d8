import fc from "fast-check";
import { expect, it } from "vitest";
import { OldestFirstMap } from "../../../src/runtime/brokers/oldest-first-map.js";
import { runs } from "../../support/runs.js";

it("names the same oldest key as a list, for any sequence of calls", () => {
  const keys = fc.constantFrom("a", "b", "c", "d", "e");
  const step = fc.record({ what: fc.constantFrom("set", "delete", "oldest", "drop"), key: keys });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const map = new OldestFirstMap<number>();
      let list: string[] = [];
      for (const [i, { what, key }] of steps.entries()) {
        const gone = what === "drop" ? map.oldest : key;
        if (what === "oldest") expect(map.oldest).toBe(list[0]);
        else {
          list = list.filter((each) => each !== gone);
          if (gone !== undefined) map.delete(gone);
        }
        if (what === "set") {
          list.push(key);
          map.set(key, i);
          expect(map.get(key)).toBe(i);
        }
        expect(map.size).toBe(list.length);
      }
      while (list.length > 0) {
        expect(map.oldest).toBe(list.shift());
        map.delete(map.oldest!);
      }
      expect(map.oldest).toBeUndefined();
    }),
    runs(300),
  );
});
