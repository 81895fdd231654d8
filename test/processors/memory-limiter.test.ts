import { describe, expect, it } from "vitest";
import { createMemoryCheck, memoryLimiter, softLimitOf } from "../../src/processors/memory-limiter.js";
import { FakeClock } from "../support/fake-clock.js";

const MIB = 1024 * 1024;
const parse = (config: object) => memoryLimiter.schema.parse(config) as Parameters<typeof softLimitOf>[0];

describe("the memory limiter", () => {
  it("begins to refuse a fifth below the limit unless told otherwise", () => {
    expect(softLimitOf(parse({ limit_mib: 100 }), 0)).toBe(80 * MIB);
    expect(softLimitOf(parse({ limit_mib: 100, spike_limit_mib: 30 }), 0)).toBe(70 * MIB);
    expect(softLimitOf(parse({ limit_percentage: 50, spike_limit_percentage: 10 }), 1000)).toBe(400);
  });

  it("takes the spike limit that belongs to the limit, in MiB or as a percentage", () => {
    expect(softLimitOf(parse({ limit_mib: 100, spike_limit_percentage: 40 }), 1000 * MIB)).toBe(80 * MIB);
    expect(softLimitOf(parse({ limit_percentage: 50, spike_limit_mib: 900 }), 1000 * MIB)).toBe(400 * MIB);
  });

  it("measures once per interval, and logs when memory becomes short and when it recovers", () => {
    const clock = new FakeClock();
    const changes: boolean[] = [];
    let used = 50;
    let measured = 0;
    const isShort = createMemoryCheck(
      1000,
      100,
      clock,
      () => {
        measured++;
        return used;
      },
      (short) => changes.push(short),
    );
    expect(isShort()).toBe(false);
    used = 150;
    expect(isShort()).toBe(false);
    expect(measured).toBe(1);
    clock.advance(1000);
    expect(isShort()).toBe(true);
    used = 90;
    clock.advance(1000);
    expect(isShort()).toBe(false);
    expect(changes).toEqual([true, false]);
  });

  it.each([
    [{}, "limit_mib"],
    [{ limit_mib: 10, check_interval: "0s" }, "check_interval"],
    [{ limit_mib: 10, spike_limit_mib: 10 }, "spike_limit_mib"],
    [{ limit_percentage: 50, spike_limit_percentage: 50 }, "spike_limit_percentage"],
    [{ limit_mib: 10, limit_percentage: 50, spike_limit_percentage: 60 }, "spike_limit_percentage"],
  ])("refuses the config %j and names %s", (config, key) => {
    expect(memoryLimiter.schema.safeParse(config).error?.issues).toMatchObject([{ path: [key] }]);
  });
});
