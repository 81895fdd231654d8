import { describe, expect, it } from "vitest";
import { AuthError } from "../../../../src/runtime/contract/auth.js";
import { CredentialGate, type VerifiedCredentials } from "../../../../src/runtime/net/auth/credential-gate.js";
import { contextOf, head, refusalOf } from "../../../extensions/auth/requests.js";
import { FakeClock } from "../../../support/fake-clock.js";

function gate() {
  const clock = new FakeClock();
  const context = contextOf("keys", clock);
  const verified: string[] = [];
  const verify = (shown: string): VerifiedCredentials => {
    verified.push(shown);
    if (shown !== "right") throw new AuthError("unauthenticated", "wrong");
    return { client: { authenticator: "keys", subject: "joe", attributes: {} } };
  };
  const created = new CredentialGate(context);
  const ask = (shown: string, address?: string) => created.authenticate(head({}, address), shown, verify);
  const fail = (times: number, address?: string) =>
    Promise.all(Array.from({ length: times }, (_, n) => refusalOf(() => ask(`wrong ${n}`, address))));
  return { clock, context, verified, created, ask, fail };
}

describe("credentials", () => {
  it("are verified once in five minutes, and never after they have expired", () => {
    const { clock, verified, ask, created } = gate();
    const client = ask("right");
    expect(ask("right")).toBe(client);
    clock.advance(299_999);
    expect(ask("right")).toBe(client);
    clock.advance(1);
    ask("right");
    expect(verified).toEqual(["right", "right"]);

    const expiring = () =>
      created.authenticate(head(), "short", () => ({
        client: { authenticator: "keys", subject: "s", attributes: {} },
        forMs: 1000,
      }));
    const first = expiring();
    expect(expiring()).toBe(first);
    clock.advance(1000);
    expect(expiring()).not.toBe(first);
  });

  it("that many connections show are verified once", async () => {
    const { created } = gate();
    let calls = 0;
    const verify = async () => {
      calls += 1;
      return { client: { authenticator: "keys", subject: "joe", attributes: {} } };
    };
    const asked = await Promise.all(Array.from({ length: 50 }, () => created.authenticate(head(), "right", verify)));
    expect([calls, new Set(asked).size]).toEqual([1, 1]);
  });

  it("that were being verified when all was forgotten are not remembered", async () => {
    const { created, ask, verified } = gate();
    let answer = (_: VerifiedCredentials) => {};
    const pending = created.authenticate(head(), "right", () => new Promise((resolve) => (answer = resolve)));
    created.forget();
    answer({ client: { authenticator: "keys", subject: "joe", attributes: {} } });
    await pending;
    await ask("right");
    expect(verified).toEqual(["right"]);
  });

  it("that are too long are not even hashed", async () => {
    const { ask, verified } = gate();
    expect(await refusalOf(() => ask("x".repeat(20_000)))).toMatchObject({ kind: "unauthenticated" });
    expect(verified).toEqual([]);
  });
});

describe("an address that guesses", () => {
  it("waits longer after each failure, and nothing is verified for it meanwhile", async () => {
    const { clock, verified, ask, fail } = gate();
    await fail(10);
    expect(verified).toHaveLength(10);
    expect(await refusalOf(() => ask("wrong"))).toMatchObject({ kind: "unavailable", retryAfterMs: 250 });
    expect(await refusalOf(() => ask("right"))).toMatchObject({ kind: "unavailable" });
    clock.advance(250);
    expect(await refusalOf(() => ask("wrong"))).toMatchObject({ kind: "unauthenticated" });
    expect(await refusalOf(() => ask("wrong"))).toMatchObject({ kind: "unavailable", retryAfterMs: 500 });
    for (let n = 0; n < 20; n++) {
      clock.advance(60_000);
      await fail(1);
    }
    expect(await refusalOf(() => ask("wrong"))).toMatchObject({ retryAfterMs: 60_000 });
    expect(verified).toHaveLength(31);
  });

  it("locks out no verified client and no other address", async () => {
    const { ask, fail } = gate();
    const client = ask("right", "192.0.2.7");
    await fail(50, "192.0.2.7");
    expect(ask("right", "192.0.2.7")).toBe(client);
    expect(await refusalOf(() => ask("new", "192.0.2.8"))).toMatchObject({ kind: "unauthenticated" });
  });

  it("starts again after ten minutes", async () => {
    const { clock, ask, fail } = gate();
    await fail(12);
    clock.advance(600_000);
    await fail(9);
    expect(await refusalOf(() => ask("wrong"))).toMatchObject({ kind: "unauthenticated" });
  });

  it("is the whole /64 of IPv6", async () => {
    const { ask, fail } = gate();
    await fail(10, "2001:db8:1:2::1");
    expect(await refusalOf(() => ask("wrong", "2001:db8:1:2:ffff::9"))).toMatchObject({ kind: "unavailable" });
    expect(await refusalOf(() => ask("wrong", "2001:db8:1:3::1"))).toMatchObject({ kind: "unauthenticated" });
  });

  it("is counted and logged, without what it showed", async () => {
    const { context, created, ask, fail } = gate();
    await fail(10);
    await refusalOf(() => ask("wrong again"));
    created.missing(head(), "nothing was shown");
    expect(Object.fromEntries(context.metrics.sums)).toEqual({
      "sluice_auth_failures{keys,invalid}": 10,
      "sluice_auth_failures{keys,held_back}": 1,
      "sluice_auth_failures{keys,missing}": 1,
    });
    expect(context.lines).toHaveLength(1);
    expect(context.lines[0]).toContain("192.0.2.1");
    expect(context.lines.join()).not.toContain("wrong 0");
  });

  it("does not fill the memory from a million addresses", async () => {
    const { created } = gate();
    const delays = (created as unknown as { delays: { byAddress: Map<string, unknown> } }).delays;
    for (let n = 0; n < 12_000; n++) created.invalid(head({}, `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`), "wrong");
    expect(delays.byAddress.size).toBe(10_000);
  });
});
