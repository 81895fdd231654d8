import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bearerTokenAuth } from "../../../../src/extensions/auth/bearer/component.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { bearer, contextOf, head, refusalOf } from "../requests.js";

async function started(config: object, clock?: FakeClock) {
  const context = contextOf("bearertokenauth", clock);
  const extension = bearerTokenAuth.create(bearerTokenAuth.schema.parse(config), context);
  await extension.start();
  return { ...context, stop: () => extension.stop(), server: extension.serverAuthenticator! };
}

describe("bearertokenauth", () => {
  it("accepts clients with one of the tokens, each as a client of its own", async () => {
    const { server } = await started({ token: "one", tokens: ["two"] });
    const one = await server.authenticate(head(bearer("one")));
    const two = await server.authenticate(head(bearer("two")));
    expect(one.subject).toMatch(/^token-[0-9a-f]{8}$/);
    expect(two.subject).not.toBe(one.subject);
    expect(server.authenticate(head(bearer("one")))).toBe(one);
    for (const headers of [bearer("three"), bearer("on"), bearer("one two"), { authorization: "one" }, {}]) {
      expect(await refusalOf(() => server.authenticate(head(headers)))).toMatchObject({ kind: "unauthenticated" });
    }
  });

  it("accepts another scheme, none, and another header", async () => {
    const { server } = await started({ token: "one", scheme: "Api-Key", header: "X-Auth" });
    expect(server.challenge).toBe('Api-Key realm="sluice"');
    expect(await server.authenticate(head({ "x-auth": "api-key one" }))).toMatchObject({});
    expect(await refusalOf(() => server.authenticate(head({ "x-auth": "Bearer one" })))).toMatchObject({});
    const bare = await started({ token: "one", scheme: "" });
    expect(await bare.server.authenticate(head({ authorization: "one" }))).toMatchObject({});
  });

  it("reads tokens of a file, one per line, and again when it changes; a revoked one is not accepted", async () => {
    const clock = new FakeClock();
    const filename = join(temporaryFolder(), "tokens");
    await writeFile(filename, "one\n\ntwo\n");
    const { server, stop } = await started({ filename, token: "ignored" }, clock);
    const request = head(bearer("one"));
    expect(await server.authenticate(request)).toMatchObject({});
    expect(await server.authenticate(head(bearer("two")))).toMatchObject({});
    await writeFile(filename, "two\nthree and more\n");
    clock.advance(5000); // recognised clients are forgotten after this time
    await expect
      .poll(() => refusalOf(() => server.authenticate(request)).catch(() => "let in"))
      .toMatchObject({ kind: "unauthenticated" });
    expect(await server.authenticate(head(bearer("two")))).toMatchObject({});
    await stop();
  });

  it("takes lines that begin with # as comments", async () => {
    const filename = join(temporaryFolder(), "tokens");
    await writeFile(filename, "# one\ntwo\n");
    const { server, stop } = await started({ filename });
    for (const token of ["# one", "one"])
      expect(await refusalOf(() => server.authenticate(head(bearer(token))))).toMatchObject({
        kind: "unauthenticated",
      });
    expect(await server.authenticate(head(bearer("two")))).toMatchObject({});
    await stop();
  });

  it("revokes all tokens of a file that was emptied, but not while the file is being written", async () => {
    const clock = new FakeClock();
    const filename = join(temporaryFolder(), "tokens");
    await writeFile(filename, "one\n");
    const { server, lines, stop } = await started({ filename }, clock);
    const outcome = () => refusalOf(() => server.authenticate(head(bearer("one")))).catch(() => "let in");
    await writeFile(filename, "");
    clock.advance(5000);
    await expect.poll(() => lines.join("\n")).toContain("it is empty");
    expect(await outcome()).toBe("let in");
    const afterNextCheck = () => {
      clock.advance(5000);
      return outcome();
    };
    await expect.poll(afterNextCheck).toMatchObject({ kind: "unauthenticated" });
    await writeFile(filename, "one\n");
    await expect.poll(afterNextCheck).toBe("let in");
    await stop();
  });

  it("needs a token", () => {
    expect(bearerTokenAuth.schema.safeParse({}).error?.issues[0]?.message).toBe("expected token, tokens or filename");
    expect(bearerTokenAuth.schema.safeParse({ token: "" }).success).toBe(false);
    expect(bearerTokenAuth.schema.safeParse({ tokens: [] }).success).toBe(false);
  });

  it("does not start with a file without a token", async () => {
    const filename = join(temporaryFolder(), "tokens");
    await writeFile(filename, "\n");
    await expect(started({ filename })).rejects.toMatchObject({ path: ["filename"] });
  });
});
