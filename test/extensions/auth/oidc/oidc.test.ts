import { createHmac } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import { oidc } from "../../../../src/extensions/auth/oidc/component.js";
import { useProxyEnvironment } from "../../../../src/runtime/net/proxy/proxy.js";
import { startProxy } from "../../../runtime/net/proxy/connect-proxy.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { bearer, contextOf, head, refusalOf } from "../requests.js";
import { ec, ed25519, type KeyPair, otherRsa, rsa, startIssuer, token, weakRsa } from "./issuer.js";

const main = rsa("main");

async function started(more: object = {}, keys: KeyPair[] = [main]) {
  const issuer = await startIssuer(...keys);
  const clock = new FakeClock();
  const context = contextOf("oidc", clock);
  const config = { issuer_url: issuer.url, audience: "telemetry", ...more };
  const extension = oidc.create(oidc.schema.parse(config), context);
  await extension.start();
  const now = () => Math.floor(clock.now() / 1000);
  const claims = (others: object = {}) => ({
    iss: issuer.url,
    aud: "telemetry",
    sub: "joe",
    exp: now() + 600,
    ...others,
  });
  const server = extension.serverAuthenticator!;
  let asked = 0;
  const address = () => `10.0.${(asked >> 8) & 255}.${asked++ & 255}`;
  const ask = async (shown: string) => server.authenticate(head(bearer(shown), address()));
  const kindOf = (shown: string) => refusalOf(() => ask(shown)).then((error) => (error as { kind?: string }).kind);
  return { issuer, clock, context, server, claims, now, ask, kindOf };
}

describe("oidc", () => {
  it("accepts tokens that the issuer signed for this audience, with their claims", async () => {
    const { ask, claims, server, issuer } = await started({ groups_claim: "groups", tenant_claim: "org" });
    const shown = token(main, claims({ groups: ["a", "b"], org: "acme", level: 3, nested: { a: 1 } }));
    const client = await ask(shown);
    expect(client).toEqual({
      authenticator: "oidc",
      subject: "joe",
      tenant: "acme",
      attributes: { sub: "joe", groups: ["a", "b"], membership: ["a", "b"], org: "acme", level: "3" },
    });
    expect(server.authenticate(head(bearer(shown)))).toBe(client);
    expect(issuer.fetches).toBe(1);
  });

  it.each([
    ["RS256", rsa("k")],
    ["RS512", rsa("k")],
    ["PS256", rsa("k")],
    ["PS384", rsa("k")],
    ["ES256", ec("k")],
    ["ES384", ec("k", "P-384")],
    ["ES512", ec("k", "P-521")],
    ["EdDSA", ed25519("k")],
    ["Ed25519", ed25519("k")],
  ] as [string, KeyPair][])("verifies %s", async (algorithm, key) => {
    const { ask, claims, kindOf } = await started({}, [key]);
    const shown = token(key, claims(), algorithm);
    expect(await ask(shown)).toMatchObject({ subject: "joe" });
    const [front, body, signature] = shown.split(".") as [string, string, string];
    const flipped = signature.startsWith("A") ? `B${signature.slice(1)}` : `A${signature.slice(1)}`;
    expect(await kindOf(`${front}.${body}.${flipped}`)).toBe("unauthenticated");
  });

  it("refuses algorithms that anyone could sign with", async () => {
    const { claims, kindOf } = await started();
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const unsigned = (alg: string) => `${part({ alg, kid: "main" })}.${part(claims())}`;
    const publicKey = main.publicKey.export({ type: "spki", format: "pem" });
    const hmac = createHmac("sha256", publicKey).update(unsigned("HS256")).digest("base64url");
    expect(await kindOf(`${unsigned("HS256")}.${hmac}`)).toBe("unauthenticated");
    for (const alg of ["none", "None", "nOnE", "", "HS512", "constructor"]) {
      expect(await kindOf(`${unsigned(alg)}.`)).toBe("unauthenticated");
      expect(await kindOf(`${unsigned(alg)}.AAAA`)).toBe("unauthenticated");
    }
  });

  it("accepts a key only for the algorithms of its kind, and no weak one", async () => {
    const keys = [main, ec("ec"), ec("p384", "P-384"), weakRsa("weak")];
    const { claims, kindOf } = await started({}, keys);
    const named = (id: string, key: KeyPair) => ({ id, privateKey: key.privateKey });
    expect(await kindOf(token(named("ec", main), claims()))).toBe("unauthenticated");
    expect(await kindOf(token(named("p384", keys[1]!), claims(), "ES256"))).toBe("unauthenticated");
    expect(await kindOf(token(keys[3]!, claims()))).toBe("unauthenticated");
    expect(await kindOf(token(main, claims(), "RS256", { crit: ["exp"] }))).toBe("unauthenticated");
  });

  it.each([
    ["expired", (now: number) => ({ exp: now - 61 })],
    ["without an end", () => ({ exp: undefined })],
    ["whose end is no number", () => ({ exp: "9999999999" })],
    ["not valid yet", (now: number) => ({ nbf: now + 120 })],
    ["issued in the future", (now: number) => ({ iat: now + 120 })],
    ["for somebody else", () => ({ aud: "billing" })],
    ["for nobody", () => ({ aud: undefined })],
    ["of another issuer", () => ({ iss: "https://evil.example" })],
    ["without a subject", () => ({ sub: undefined })],
    ["with a subject that is no text", () => ({ sub: { a: 1 } })],
  ])("refuses a token %s", async (_, change) => {
    const { claims, now, kindOf, issuer } = await started();
    expect(await kindOf(token(main, claims(change(now()))))).toBe("unauthenticated");
    expect(issuer.fetches).toBeLessThanOrEqual(1);
  });

  it("tolerates clocks that differ by a minute, and rejects expired tokens", async () => {
    const { claims, now, ask, kindOf, clock } = await started();
    const shown = token(main, claims({ exp: now() - 30, nbf: now() + 30 }));
    expect(await ask(shown)).toMatchObject({ subject: "joe" });
    clock.advance(30_000);
    expect(await kindOf(shown)).toBe("unauthenticated");
  });

  it.each(["", "a.b", "a.b.c", "..", "a.b.c.d", `${"x".repeat(20_000)}.e30.e30`, "e30.e30.e30", "bnVsbA.bnVsbA.AAAA"])(
    "refuses invalid tokens: %#",
    async (shown) => {
      const { kindOf } = await started();
      expect(await kindOf(shown)).toBe("unauthenticated");
    },
  );

  const HOUR = 3_600_000;

  it.each([
    ["a day of rest", 24 * HOUR, {}],
    ["the time that max_stale says", 61_000, { jwks: { refresh: "30s", max_stale: "1m" } }],
  ])("rejects tokens of a withdrawn key after %s", async (_, idleMs, config) => {
    const next = otherRsa("next");
    const { issuer, clock, claims, ask, kindOf } = await started(config);
    const exp = Math.floor(clock.now() / 1000) + 200_000;
    expect(await ask(token(main, claims({ exp })))).toMatchObject({ subject: "joe" });
    issuer.keys = [next];
    clock.advance(idleMs);
    expect(await kindOf(token(main, claims({ exp, jti: "1" })))).toBe("unavailable");
    expect(await ask(token(next, claims({ exp })))).toMatchObject({ subject: "joe" });
    clock.advance(10_000);
    expect(await kindOf(token(main, claims({ exp, jti: "2" })))).toBe("unauthenticated");
  });

  it("accepts no key that is older than max_stale while the issuer is down", async () => {
    const { issuer, clock, claims, ask, kindOf } = await started();
    const claimed = claims({ exp: Math.floor(clock.now() / 1000) + 72 * 3600 });
    expect(await ask(token(main, claimed))).toMatchObject({});
    issuer.down = true;
    clock.advance(HOUR - 120_000);
    expect(await ask(token(main, { ...claimed, jti: "1" }))).toMatchObject({});
    clock.advance(120_000);
    expect(await kindOf(token(main, claimed))).toBe("unavailable");
    expect(await kindOf(token(main, { ...claimed, jti: "1" }))).toBe("unavailable"); // verified two minutes ago
    clock.advance(72 * HOUR - 2 * HOUR);
    expect(await kindOf(token(main, { ...claimed, jti: "2" }))).toBe("unavailable");
    issuer.down = false;
    clock.advance(10_000);
    expect(await ask(token(main, { ...claimed, jti: "3" }))).toMatchObject({});
  });

  it("fetches keys again when they are ten minutes old, and forgets verified tokens if one is withdrawn", async () => {
    const other = otherRsa("other");
    const { issuer, clock, claims, ask, kindOf } = await started({}, [main, other]);
    const shown = token(main, claims({ exp: Math.floor(clock.now() / 1000) + 7200 }));
    expect(await ask(token(main, claims()))).toMatchObject({});
    clock.advance(590_000);
    expect(await ask(shown)).toMatchObject({});
    expect(issuer.fetches).toBe(1);
    issuer.keys = [other];
    clock.advance(11_000);
    expect(await ask(shown)).toMatchObject({}); // it was verified some seconds ago
    expect(await ask(token(other, claims({ exp: Math.floor(clock.now() / 1000) + 600 })))).toMatchObject({});
    await expect.poll(() => issuer.fetches).toBe(2);
    await expect.poll(() => kindOf(shown)).toBe("unavailable");
    clock.advance(10_000);
    expect(await kindOf(shown)).toBe("unauthenticated");
  });

  it("ages keys also while the machine sleeps", async () => {
    const { issuer, clock, claims, ask, kindOf } = await started();
    const exp = Math.floor(clock.now() / 1000) + 72 * 3600;
    expect(await ask(token(main, claims({ exp })))).toMatchObject({});
    issuer.down = true;
    const wall = clock.now.bind(clock);
    clock.now = () => wall() + 2 * HOUR;
    expect(await kindOf(token(main, claims({ exp, jti: "1" })))).toBe("unavailable");
  });

  it.each([
    ["is for encryption", { use: "enc" }],
    ["is not for verifying", { key_ops: ["encrypt"] }],
    ["is for another algorithm", { alg: "RS512" }],
    ["was published with its secret part", { d: "AQAB" }],
  ])("uses no key that %s", async (_, more) => {
    const { claims, kindOf } = await started({}, [{ ...main, more }]);
    expect(await kindOf(token(main, claims()))).not.toBeUndefined();
  });

  it("fetches keys through the proxy of the environment", async () => {
    const proxy = await startProxy();
    onTestFinished(() => proxy.close());
    proxy.status = 502;
    useProxyEnvironment({ HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` });
    onTestFinished(() => useProxyEnvironment({}));
    const { claims, kindOf } = await started({ issuer_url: "https://auth.example.com" });
    expect(await kindOf(token(main, claims({ iss: "https://auth.example.com" })))).toBe("unavailable");
    expect(proxy.seen[0]).toEqual(["CONNECT", "auth.example.com:443", undefined]);
  });

  it("finds keys that the issuer has changed, and keeps the old ones while it is down", async () => {
    const next = otherRsa("next");
    const { issuer, clock, claims, ask, kindOf } = await started();
    expect(await ask(token(main, claims()))).toMatchObject({});
    issuer.down = true;
    clock.advance(20_000);
    expect(await ask(token(main, claims({ jti: "1" })))).toMatchObject({});
    expect(await kindOf(token(next, claims()))).toBe("unavailable");

    issuer.down = false;
    issuer.keys = [next];
    expect(await kindOf(token(next, claims()))).toBe("unavailable");
    clock.advance(10_000);
    expect(await ask(token(next, claims()))).toMatchObject({});
    expect(await kindOf(token(main, claims({ jti: "2" })))).toBe("unavailable");
    clock.advance(10_000);
    expect(await kindOf(token(main, claims({ jti: "3" })))).toBe("unauthenticated");
    expect(await kindOf(token(main, claims({ jti: "4" })))).toBe("unauthenticated");
  });

  it("sends a retryable error while it has never reached the issuer, and starts anyway", async () => {
    const { clock, claims, context } = await started();
    const lonely = await startIssuer(main);
    lonely.down = true;
    const extension = oidc.create(oidc.schema.parse({ issuer_url: lonely.url, audience: "telemetry" }), context);
    await extension.start();
    const shown = token(main, { ...claims(), iss: lonely.url });
    const answer = () => extension.serverAuthenticator!.authenticate(head(bearer(shown)));
    expect(await refusalOf(answer)).toMatchObject({ kind: "unavailable" });
    lonely.down = false;
    clock.advance(10_000);
    expect(await answer()).toMatchObject({ subject: "joe" });
    expect(context.lines.join()).toContain("the keys of the issuer cannot be fetched");
    expect(context.lines.join()).not.toContain(shown);
  });

  it("fetches keys once in ten seconds, whatever key ids are invented", async () => {
    const { issuer, claims, kindOf, ask } = await started();
    await ask(token(main, claims()));
    const key = ed25519("x");
    const flood = Array.from({ length: 1500 }, (_, n) =>
      kindOf(token({ ...key, id: `made up ${n}` }, claims(), "EdDSA")),
    );
    expect(new Set(await Promise.all(flood.slice(0, 200)))).toEqual(new Set(["unavailable"]));
    await Promise.all(flood);
    expect(issuer.fetches).toBe(1);
  });

  it("finds a key that the issuer did not have yet when its id was first requested", async () => {
    const next = otherRsa("next");
    const { ask, claims, clock, issuer, kindOf } = await started();
    expect(await ask(token(main, claims()))).toMatchObject({ subject: "joe" });
    clock.advance(10_000);
    expect(await kindOf(token(next, claims()))).toBe("unauthenticated");
    issuer.keys = [next];
    expect(await kindOf(token(next, claims()))).toBe("unauthenticated");
    clock.advance(10_000);
    expect(await ask(token(next, claims()))).toMatchObject({ subject: "joe" });
    expect(issuer.fetches).toBe(3);
  });

  it("takes groups and tenant only from the configured claims, whatever others are called", async () => {
    const { ask, claims } = await started({ tenant_claim: "org" });
    const others = { tenant: "acme", Tenant: "acme", membership: ["admins"], Membership: ["admins"], Subject: "root" };
    const client = await ask(token(main, claims(others)));
    expect(client).toEqual({ authenticator: "oidc", subject: "joe", attributes: { sub: "joe" } });
  });

  it("accepts tokens of several issuers, each with its own keys", async () => {
    const other = otherRsa("main");
    const second = await startIssuer(other);
    const providers = [{ issuer_url: second.url, ignore_audience: true, username_claim: "name" }];
    const { ask, claims, kindOf } = await started({ providers });
    expect(await ask(token(main, claims()))).toMatchObject({ subject: "joe" });
    expect(await ask(token(other, claims({ iss: second.url, aud: "x", name: "ann" })))).toMatchObject({
      subject: "ann",
    });
    expect(await kindOf(token(main, claims({ iss: second.url, name: "ann" })))).toBe("unauthenticated");
    expect(await kindOf(token(other, claims()))).toBe("unauthenticated");
  });

  it("rejects a discovery document of another issuer", async () => {
    const { issuer, claims, kindOf, clock } = await started();
    issuer.discovery = { issuer: "https://evil.example" };
    clock.advance(10_000);
    expect(await kindOf(token(otherRsa("new"), claims()))).toBe("unavailable");
  });

  it.each([
    [{}, "expected issuer_url, or providers"],
    [{ issuer_url: "https://a.example" }, "expected an audience, or ignore_audience: true"],
    [{ issuer_url: "http://a.example", audience: "x" }, "http only on this machine"],
    [{ providers: [{ issuer_url: "https://a.example" }] }, "expected an audience"],
    [{ issuer_url: "https://a.example", audience: "x", jwks: { refresh: "2h" } }, "not longer than max_stale"],
    [{ issuer_url: "https://a.example", audience: "x", jwks: { refresh: "1s", max_stale: "5s" } }, "10s or more"],
  ])("reports what is missing in %j", (config, message) => {
    expect(oidc.schema.safeParse(config).error?.issues[0]?.message).toContain(message);
  });
});
