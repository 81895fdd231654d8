import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { argon2id } from "@noble/hashes/argon2.js";
import { hashSync } from "bcryptjs";
import { describe, expect, it } from "vitest";
import { basicAuth } from "../../../../src/extensions/auth/basic/component.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { basic, contextOf, head, refusalOf } from "../requests.js";

const BCRYPT = hashSync("open sesame", 4);

async function started(htpasswd: object, clock?: FakeClock) {
  const context = contextOf("basicauth", clock);
  const extension = basicAuth.create(basicAuth.schema.parse({ htpasswd }), context);
  await extension.start();
  return { ...context, stop: () => extension.stop(), server: extension.serverAuthenticator! };
}

function argon2Line(user: string, password: string): string {
  const salt = Buffer.from("saltsalt");
  const hash = argon2id(password, salt, { m: 64, t: 1, p: 1, dkLen: 16 });
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64").replace(/=+$/, "");
  return `${user}:$argon2id$v=19$m=64,t=1,p=1$${text(salt)}$${text(hash)}`;
}

describe("basicauth", () => {
  it.each([
    ["bcrypt", `joe:${BCRYPT}`],
    ["bcrypt of htpasswd -B", `joe:${BCRYPT.replace(/^\$2.\$/, "$2y$")}`],
    ["argon2", argon2Line("joe", "open sesame")],
    ["a plain password of the config", "joe:open sesame"],
  ])("accepts only clients with the right password: %s", async (_, inline) => {
    const { server } = await started({ inline });
    expect(await server.authenticate(head(basic("joe", "open sesame")))).toEqual({
      authenticator: "basicauth",
      subject: "joe",
      attributes: { username: "joe" },
    });
    const wrong = [basic("joe", "open sesam"), basic("joe", ""), basic("jo", "open sesame"), basic("", "open sesame")];
    for (const headers of wrong) {
      expect(await refusalOf(() => server.authenticate(head(headers)))).toMatchObject({ kind: "unauthenticated" });
    }
  });

  it("recognises verified clients synchronously, on any connection", async () => {
    const { server } = await started({ inline: `joe:${BCRYPT}` });
    const request = head(basic("joe", "open sesame"));
    const client = await server.authenticate(request);
    expect(server.authenticate(request)).toBe(client);
    expect(server.authenticate(head(basic("joe", "open sesame")))).toBe(client);
  });

  it.each([
    {},
    { authorization: "" },
    { authorization: "Basic" },
    { authorization: "Basic !" },
    { authorization: "Bearer abc" },
  ])("refuses invalid credentials: %j", async (headers) => {
    const { server } = await started({ inline: "joe:pw" });
    expect(await refusalOf(() => server.authenticate(head(headers)))).toMatchObject({ kind: "unauthenticated" });
  });

  it.each([
    ["", "the password is empty"],
    ["$apr1$abc$def", "apr1 (MD5) is not supported; use bcrypt (htpasswd -B) or argon2"],
    ["{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "SHA-1 is not supported"],
    ["$6$salt$hash", "SHA crypt is not supported"],
    ["rqXexS6ZhobKA", "DES crypt is not supported"],
    [BCRYPT.replace("$04$", "$31$"), "its bcrypt cost is over 14"],
    ["$argon2id$v=19$m=99999999,t=1,p=1$c2FsdHNhbHQ$aGFzaA", "argon2 with more than"],
  ])("reports an unsupported hash when the config is loaded: %s", (stored, message) => {
    const { error } = basicAuth.schema.safeParse({ htpasswd: { inline: `# who\njoe:${stored}` } });
    expect(error?.issues[0]?.message).toContain(`line 2: ${message}`);
    if (stored !== "") expect(error?.issues[0]?.message).not.toContain(stored);
  });

  it.each([
    ["an empty password", hashSync("", 4), ""],
    ["a password of more than the 72 bytes that bcrypt compares", hashSync("a".repeat(72), 4), `${"a".repeat(72)}b`],
  ])("never lets in %s", async (_, stored, password) => {
    const { server } = await started({ inline: `joe:${stored}` });
    expect(await refusalOf(() => server.authenticate(head(basic("joe", password))))).toMatchObject({
      kind: "unauthenticated",
    });
  });

  it("lets in a password of 72 bytes", async () => {
    const { server } = await started({ inline: `joe:${hashSync("a".repeat(72), 4)}` });
    expect(await server.authenticate(head(basic("joe", "a".repeat(72))))).toMatchObject({ subject: "joe" });
  });

  it("reads its file again when it changes, and keeps the old one when the new cannot be used", async () => {
    const clock = new FakeClock();
    const folder = temporaryFolder();
    const file = join(folder, "htpasswd");
    const replace = async (text: string) => {
      await writeFile(`${file}.new`, text);
      await rename(`${file}.new`, file);
      clock.advance(5000);
    };
    await writeFile(file, `joe:${BCRYPT}\n`);
    const { server, lines, stop } = await started({ file }, clock);
    const isLetIn = async (user: string) => {
      const answer = Promise.resolve().then(() => server.authenticate(head(basic(user, "open sesame"))));
      const outcome = await answer.then(
        () => true,
        () => false,
      );
      clock.advance(1000);
      return outcome;
    };
    expect([await isLetIn("joe"), await isLetIn("ann")]).toEqual([true, false]);

    await replace(`ann:${BCRYPT}\n`);
    await expect.poll(() => isLetIn("ann")).toBe(true);
    expect(await isLetIn("joe")).toBe(false);

    await replace("ann:plain password\n");
    await expect.poll(() => lines.join("\n")).toContain("the file cannot be used");
    expect(await isLetIn("ann")).toBe(true);
    expect(lines.join("\n")).not.toContain("plain password:");
    await stop();
  });

  it("does not start with a missing file", async () => {
    await expect(started({ file: join(temporaryFolder(), "none") })).rejects.toMatchObject({
      path: ["htpasswd", "file"],
    });
  });

  it("verifies one at a time, and answers requests over the limit with a retryable error", async () => {
    const { server } = await started({ inline: `joe:${BCRYPT}` });
    const asked = Array.from({ length: 200 }, (_, n) =>
      refusalOf(() => server.authenticate(head(basic("joe", `guess ${n}`), `192.0.2.${n}`))),
    );
    const kinds = (await Promise.all(asked)).map((error) => (error as { kind: string }).kind);
    expect(kinds.filter((kind) => kind === "unauthenticated").length).toBeGreaterThan(30);
    expect(kinds.filter((kind) => kind === "unavailable").length).toBeGreaterThan(30);
  });
});
