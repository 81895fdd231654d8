import { describe, expect, it } from "vitest";
import { FakeClock, flushPromises } from "../../../../src/agent/testing/fakes.js";
import { Refusal } from "../../../../src/plugin.js";
import { RenewedCredentials } from "../../../../src/runtime/net/auth/renewed-credentials.js";
import { contextOf } from "../../../extensions/auth/requests.js";

/** Credentials whose fetches the test answers. */
function scene(lifetimeMs?: number) {
  const clock = new FakeClock();
  const fetches: { succeed(name: string): void; fail(refusal?: Refusal): void }[] = [];
  const fetch = () =>
    new Promise<{ value: { name: string }; lifetimeMs?: number }>((resolve, reject) => {
      fetches.push({
        succeed: (name) => resolve({ value: { name }, ...(lifetimeMs !== undefined && { lifetimeMs }) }),
        fail: (refusal = new Refusal("transient", "down")) => reject(refusal),
      });
    });
  const { logger, random, lines } = contextOf("oauth2client", clock);
  const credentials = new RenewedCredentials({ fetch, bufferMs: 300_000, clock, random, logger });
  const now = () => (credentials.get() as { name: string }).name;
  return { clock, fetches, credentials, now, lines };
}

describe("RenewedCredentials", () => {
  it("are fetched once for all waiting callers, and returned synchronously from then on", async () => {
    const { credentials, fetches, now } = scene();
    const asked = [credentials.get(), credentials.get(), credentials.get()];
    expect(fetches).toHaveLength(1);
    fetches[0]!.succeed("a");
    expect((await Promise.all(asked)).map(({ name }) => name)).toEqual(["a", "a", "a"]);
    expect(now()).toBe("a");
  });

  it("are renewed in the background before they end, while the old ones are used", async () => {
    const { credentials, clock, fetches, now } = scene(3_600_000);
    const first = credentials.get();
    fetches[0]!.succeed("a");
    await first;
    clock.advance(3_299_000);
    expect([now(), fetches.length]).toEqual(["a", 1]);
    clock.advance(1000);
    expect([now(), now(), fetches.length]).toEqual(["a", "a", 2]);
    fetches[1]!.succeed("b");
    await flushPromises();
    expect([now(), fetches.length]).toEqual(["b", 2]);
  });

  it("are renewed halfway if they live no longer than the buffer", async () => {
    const { credentials, clock, fetches, now } = scene(60_000);
    const first = credentials.get();
    fetches[0]!.succeed("a");
    await first;
    clock.advance(29_000);
    expect([now(), fetches.length]).toEqual(["a", 1]);
    clock.advance(1000);
    expect([now(), fetches.length]).toEqual(["a", 2]);
  });

  it("are used as long as they are valid while new ones cannot be fetched, and no longer", async () => {
    const { credentials, clock, fetches, now, lines } = scene(60_000);
    const first = credentials.get();
    fetches[0]!.succeed("a");
    await first;
    clock.advance(30_000);
    now();
    fetches[1]!.fail();
    await flushPromises();
    expect(now()).toBe("a");
    expect(lines.join()).toContain("new credentials cannot be fetched");
    clock.advance(28_000);
    const waiting = credentials.get() as Promise<{ name: string }>;
    expect(fetches).toHaveLength(3);
    fetches[2]!.succeed("b");
    expect((await waiting).name).toBe("b");
  });

  it("are not fetched again at once after a failure: callers are refused with the reason meanwhile", async () => {
    const { credentials, clock, fetches } = scene();
    const first = credentials.get() as Promise<unknown>;
    fetches[0]!.fail();
    await expect(first).rejects.toMatchObject({ kind: "transient", message: "down" });
    await expect(credentials.get()).rejects.toMatchObject({ kind: "throttled", message: "down", retryAfterMs: 750 });
    expect(fetches).toHaveLength(1);
    const waits: number[] = [];
    for (let round = 1; round < 9; round++) {
      let waited = 0;
      while (fetches.length === round) {
        clock.advance(250);
        waited += 250;
        (credentials.get() as Promise<unknown>).catch(() => {});
      }
      waits.push(waited);
      fetches[round]!.fail();
      await flushPromises();
    }
    expect(waits).toEqual([750, 1500, 3000, 6000, 12_000, 22_500, 22_500, 22_500]);
  });

  it("wait as long as the server asks", async () => {
    const { credentials, clock, fetches } = scene();
    const first = credentials.get() as Promise<unknown>;
    fetches[0]!.fail(new Refusal("throttled", "later", { retryAfterMs: 10_000 }));
    await expect(first).rejects.toMatchObject({ kind: "throttled" });
    clock.advance(9999);
    await expect(credentials.get()).rejects.toMatchObject({ kind: "throttled" });
    clock.advance(1);
    (credentials.get() as Promise<unknown>).catch(() => {});
    expect(fetches).toHaveLength(2);
  });

  it("are fetched again when refused, unless they are quite new or were replaced already", async () => {
    const { credentials, clock, fetches, now } = scene(3_600_000);
    const asked = credentials.get();
    fetches[0]!.succeed("a");
    const a = await asked;
    credentials.forget(a);
    expect(now()).toBe("a");
    clock.advance(10_000);
    credentials.forget(a);
    const again = credentials.get();
    fetches[1]!.succeed("b");
    expect((await again).name).toBe("b");
    clock.advance(10_000);
    credentials.forget(a);
    expect([now(), fetches.length]).toEqual(["b", 2]);
  });
});
