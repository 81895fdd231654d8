import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { basicAuth } from "../../../../src/extensions/auth/basic/component.js";
import type { ClientAuthRequest } from "../../../../src/runtime/contract/auth.js";
import { isStartError } from "../../../../src/runtime/contract/errors/start-error.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { basic, contextOf } from "../requests.js";

const request = {} as ClientAuthRequest;

async function started(client_auth: object, clock?: FakeClock) {
  const context = contextOf("basicauth", clock);
  const extension = basicAuth.create(basicAuth.schema.parse({ client_auth }), context);
  await extension.start();
  return { ...context, stop: () => extension.stop(), client: extension.clientAuthenticator!, extension };
}

describe("basicauth with client_auth", () => {
  it("sends a user and a password, with the same object every time", async () => {
    const { client, extension } = await started({ username: "jö", password: "p:w" });
    expect(client.authorize(request)).toEqual(basic("jö", "p:w"));
    expect(client.authorize(request)).toBe(client.authorize(request));
    expect(client.isConfidential).toBe(true);
    expect(extension.serverAuthenticator).toBeUndefined();
  });

  it("reads them from files, which win, and again when these change", async () => {
    const clock = new FakeClock();
    const folder = temporaryFolder();
    const [username_file, password_file] = [join(folder, "user"), join(folder, "password")];
    await writeFile(username_file, "joe\n");
    await writeFile(password_file, " one\n");
    const { client, stop, lines } = await started({ username: "x", username_file, password_file }, clock);
    expect(client.authorize(request)).toEqual(basic("joe", "one"));
    await writeFile(password_file, "another one\n");
    const shown = () => {
      clock.advance(5000);
      return client.authorize(request);
    };
    await expect.poll(shown).toEqual(basic("joe", "another one"));
    await writeFile(password_file, "\n");
    const log = () => {
      clock.advance(5000);
      return lines.join();
    };
    await expect.poll(log).toContain("its previous content stays");
    expect(client.authorize(request)).toEqual(basic("joe", "another one"));
    expect(lines.join()).not.toContain("another");
    await stop();
  });

  it("does not start without its files", async () => {
    const error = await started({ username: "x", password_file: "/nowhere" }).catch((reason: unknown) => reason);
    expect(isStartError(error) && error.path).toEqual(["client_auth", "password_file"]);
  });

  it("reports which sides it supports, and config problems", () => {
    const parse = (config: object) => basicAuth.schema.safeParse(config);
    const users = { htpasswd: { inline: "joe:secret" } };
    const us = { client_auth: { username: "joe", password: "secret" } };
    const sides = (config: object) => basicAuth.authenticates?.(basicAuth.schema.parse(config));
    expect([sides(users), sides(us), sides({ ...users, ...us })]).toEqual([
      ["server"],
      ["client"],
      ["server", "client"],
    ]);
    expect(parse({}).error?.issues[0]?.message).toBe("expected htpasswd, client_auth or both");
    expect(parse({ client_auth: { password: "x" } }).error?.issues[0]?.path).toEqual(["client_auth", "username"]);
    expect(parse({ client_auth: { username: "a:b" } }).success).toBe(false);
  });
});
