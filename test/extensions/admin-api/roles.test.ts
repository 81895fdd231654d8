import { readFile, stat, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { adminApi } from "../../../src/extensions/admin-api/component.js";
import { ROUTES } from "../../../src/extensions/admin-api/routes.js";
import { ADMIN_ROLES, type AdminRole } from "../../../src/runtime/contract/api/operations.js";
import { AuthError, type ServerAuthenticator } from "../../../src/runtime/contract/auth.js";
import { adminTokenHash, createAdminToken } from "../../../src/runtime/net/auth/admin-token.js";
import { deadLetter } from "../../runtime/queue/operate/controls.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { startApi } from "./harness.js";

const endpoint = "127.0.0.1:0";
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** One request for each role. */
const REQUESTS: readonly (readonly [AdminRole, string, string, unknown?])[] = [
  ["view", "GET", "/exporters"],
  ["view", "GET", "/exporters/a"],
  ["view", "GET", "/dead-letters"],
  ["view", "GET", "/dead-letters/stats"],
  ["view", "GET", "/dead-letters/unknown"],
  ["view", "GET", "/replays"],
  ["view", "GET", "/dead-letters/unknown?payload=true"],
  ["reveal", "POST", "/dead-letters/unknown/reveal", { reason: "why" }],
  ["reveal", "GET", "/dead-letters/export"],
  ["replay", "POST", "/dead-letters/replay", { all: true, by: "ann" }],
  ["replay", "POST", "/dead-letters/import", ""],
  ["replay", "DELETE", "/replays/unknown"],
  ["purge", "POST", "/dead-letters/purge", { all: true }],
  ["purge", "POST", "/dead-letters/restore", { all: true }],
  ["purge", "DELETE", "/dead-letters/unknown"],
  ["configure", "POST", "/exporters/a/pause", {}],
  ["configure", "POST", "/exporters/a/resume", {}],
  ["configure", "POST", "/exporters/a/retry", {}],
  ["configure", "POST", "/exporters/a/breaker", { state: "auto" }],
  ["configure", "POST", "/exporters/a/replay-rate", { rate: 5 }],
];

describe("a token", () => {
  it.each(ADMIN_ROLES.map((role) => [role]))("with the role %s allows its actions, and nothing else", async (role) => {
    const token = createAdminToken();
    const { ask } = await startApi({ endpoint, tokens: [{ name: "ops", hash: adminTokenHash(token), roles: [role] }] });
    for (const [needed, method, path, body] of REQUESTS) {
      const type: Record<string, string> = path.endsWith("import") ? { "content-type": "application/x-ndjson" } : {};
      const { status, body: answer } = await ask(method, path, body, { ...bearer(token), ...type });
      if (needed === role) expect([path, status < 401 || status === 404]).toEqual([path, true]);
      else expect([path, status, answer.error.code]).toEqual([path, 403, "forbidden"]);
    }
  });

  it("is needed for every route, and each route has a role, as documented", async () => {
    const { ask } = await startApi();
    for (const [, method, path, body] of REQUESTS) {
      const answer = await ask(method, path, body, { authorization: "" });
      expect([path, answer.status, answer.body.error.code]).toEqual([path, 401, "unauthorized"]);
    }
    const page = parse(await readFile("docs/openapi.yaml", "utf8")) as {
      paths: Record<string, Record<string, { "x-role"?: string }>>;
    };
    for (const { method, path, role } of ROUTES) {
      const written = page.paths[path.replace(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()]?.["x-role"];
      expect([path, written]).toEqual([path, role]);
    }
  });

  it("with reveal is needed to search in records, because answers reveal masked content", async () => {
    const token = createAdminToken();
    const roles = ["view", "replay", "purge"];
    const { ask, a } = await startApi({ endpoint, tokens: [{ name: "ops", token, roles }] });
    await deadLetter(a);
    const asked = async (method: string, path: string, body?: unknown) => {
      const answer = await ask(method, path, body, bearer(token));
      return answer.status === 403 ? answer.body.error.message : answer.status;
    };
    for (const name of ["text", "where", "attribute"]) {
      const refused = `the filter ${name} looks into records: this needs the role reveal, which "ops" does not have`;
      const query = { [name]: "x" };
      for (const path of ["", "/stats", "/groups"])
        expect(await asked("GET", `/dead-letters${path}?${name}=x`)).toBe(refused);
      for (const path of ["/purge", "/restore"])
        expect(await asked("POST", `/dead-letters${path}`, { query, dryRun: true })).toBe(refused);
      expect(await asked("POST", "/dead-letters/replay", { query, by: "ann", dryRun: true })).toBe(refused);
    }
    const transform = ['set(log.body, "x") where IsMatch(log.body, "4111")'];
    expect(await asked("POST", "/dead-letters/replay", { all: true, by: "ann", dryRun: true, transform })).toContain(
      "transform changes records: this needs the role reveal",
    );
    expect(await asked("POST", "/dead-letters/replay", { all: true, by: "ann", dryRun: true })).toBe(200);
  });

  it("that is unknown is refused, and many of them are slowed down", async () => {
    const token = createAdminToken();
    const { ask } = await startApi({ endpoint, tokens: [{ name: "ops", token, roles: ["view"] }] });
    const wrong = [createAdminToken(), token.slice(0, -1), `${token}x`, "", "null"];
    for (const shown of wrong) expect((await ask("GET", "/exporters", undefined, bearer(shown))).status).toBe(401);
    expect((await ask("GET", "/exporters", undefined, { authorization: token })).status).toBe(401);
    for (let n = 0; n < 10; n++) await ask("GET", "/exporters", undefined, bearer(`guess-${n}`));
    expect((await ask("GET", "/exporters", undefined, bearer("guess"))).status).toBe(503);
  });

  it("tells its bearer the name and the roles, whatever they are", async () => {
    const [viewer, none] = [createAdminToken(), createAdminToken()];
    const tokens = [
      { name: "ann", token: viewer, roles: ["replay", "view"] },
      { name: "bot", token: none, roles: ["purge"] },
    ];
    const { ask } = await startApi({ endpoint, tokens });
    const me = async (token: string) => (await ask("GET", "/me", undefined, bearer(token))).body;
    expect(await me(viewer)).toEqual({ name: "ann", roles: ["view", "replay"], owner: false });
    expect(await me(none)).toEqual({ name: "bot", roles: ["purge"], owner: false });
    expect((await ask("GET", "/me", undefined, bearer("guess"))).status).toBe(401);
  });

  it("from the token file is that of the user who runs the agent, as commands of that user are", async () => {
    const { ask } = await startApi();
    const { body } = await ask("GET", "/me");
    expect(body).toEqual({ name: userInfo().username, roles: [...ADMIN_ROLES], owner: true });
    const by = async (given: object) => (await ask("POST", "/dead-letters/replay", { all: true, ...given })).body.by;
    expect([await by({}), await by({ by: "ann" })]).toEqual([userInfo().username, "ann"]);
  });

  it("is the one actor of the audit, with another claimed name only beside its address", async () => {
    const token = createAdminToken();
    const { ask } = await startApi({ endpoint, tokens: [{ name: "ops", token, roles: ["configure", "view"] }] });
    for (const body of [{}, { by: "ops" }, { by: "ann" }]) await ask("POST", "/exporters/a/retry", body, bearer(token));
    const { records } = (await ask("GET", "/audit", undefined, bearer(token))).body;
    expect(records.map(({ actor, from }: { actor: string; from: string }) => [actor, from])).toEqual([
      ["ops", "ann at 127.0.0.1"],
      ["ops", "127.0.0.1"],
      ["ops", "127.0.0.1"],
    ]);
  });

  it("names its owner in the log and in the history of replayed entries", async () => {
    const token = createAdminToken();
    const { ask, said, a } = await startApi({ endpoint, tokens: [{ name: "ops", token, roles: ["replay", "view"] }] });
    await deadLetter(a, { id: "x" } as never).catch(() => {});
    const { body } = await ask("POST", "/dead-letters/replay", { all: true, by: "ann" }, bearer(token));
    expect(body.by).toBe("ops");
    expect(said.at(-1)).toMatchObject({
      message: "a change was requested through the admin API",
      fields: { actor: "ops" },
    });
    expect(JSON.stringify(said)).not.toContain(token);
  });

  it.each([
    [{ tokens: [{ name: "a", roles: ["view"] }] }, "expected either hash or token"],
    [{ tokens: [{ name: "a", hash: "sha256:abc", roles: ["view"] }] }, "sluice admin-token"],
    [{ tokens: [{ name: "a", token: "short", roles: ["view"] }] }, "at least 16"],
    [{ tokens: [{ name: "a", token: createAdminToken(), roles: [] }] }, "at least one role"],
    [{ auth: { authenticator: "oidc" } }, "auth and grants belong together"],
    [{ grants: [{ subject: "a", roles: ["view"] }] }, "auth and grants belong together"],
    [{ auth: { authenticator: "oidc" }, grants: [{ roles: ["view"] }] }, "expected subject or group"],
  ])("must be configured completely: %j", (config, message) => {
    expect(adminApi.schema.safeParse(config).error?.issues[0]?.message).toContain(message);
  });
});

describe("an authenticator", () => {
  const known: ServerAuthenticator = {
    challenge: "Known",
    authenticate(request) {
      const subject = request.header("authorization") ?? "";
      if (subject === "") throw new AuthError("unauthenticated", "who are you?");
      if (subject === "down") throw new AuthError("unavailable", "later");
      return { authenticator: "known", subject, attributes: { membership: subject === "ann" ? ["ops"] : [] } };
    },
  };
  const auth = { authenticator: "known" };
  const grants = [
    { subject: "joe*", roles: ["view"] },
    { group: "ops", roles: ["view", "configure"] },
  ];

  it("identifies callers, and grants give them roles", async () => {
    const { ask, said } = await startApi({ endpoint, auth, grants }, known);
    const status = async (who: string, method: string, path: string, body?: unknown) =>
      (await ask(method, path, body, { authorization: who })).status;
    expect(await status("joe-1", "GET", "/exporters")).toBe(200);
    expect(await status("joe-1", "POST", "/exporters/a/pause", {})).toBe(403);
    expect(await status("ann", "POST", "/exporters/a/pause", {})).toBe(200);
    expect(said.at(-1)).toMatchObject({ fields: { actor: "ann" } });
    expect(await status("eve", "GET", "/exporters")).toBe(403);
    expect(await status("", "GET", "/exporters")).toBe(401);
    expect(await status("down", "GET", "/exporters")).toBe(503);
  });

  it("can be combined with tokens", async () => {
    const token = createAdminToken();
    const tokens = [{ name: "ops", token, roles: ["purge"] }];
    const { ask } = await startApi({ endpoint, auth, grants, tokens }, known);
    expect((await ask("POST", "/dead-letters/purge", { all: true }, bearer(token))).status).toBe(200);
    expect((await ask("GET", "/exporters", undefined, { authorization: "joe" })).status).toBe(200);
  });
});

describe("tokens beside an authenticator", () => {
  it("cannot be guessed, and no answer reveals a right guess", async () => {
    const passwords: ServerAuthenticator = {
      challenge: "Basic",
      authenticate() {
        throw new AuthError("unauthenticated", "a password is required");
      },
    };
    const [token, other] = [createAdminToken(), createAdminToken()];
    const tokens = [token, other].map((each, i) => ({ name: `ops-${i}`, token: each, roles: ["view"] }));
    const grants = [{ subject: "*", roles: ["view"] }];
    const { ask } = await startApi({ endpoint, auth: { authenticator: "known" }, grants, tokens }, passwords);
    const status = async (shown: string) => (await ask("GET", "/exporters", undefined, bearer(shown))).status;
    expect(await status(token)).toBe(200);
    for (let guess = 0; guess < 20; guess++) expect(await status(`a-guess-at-a-token-${guess}`)).toBe(401);
    expect(await status(other)).toBe(401);
    expect(await status(token)).toBe(200); // It was verified before.
  });
});

describe("the token file", () => {
  it("is readable only by its owner, gives access, and is removed at the stop", async () => {
    const folder = join(temporaryFolder(), "new", "data");
    const path = join(folder, "admin-token");
    const { ask } = await startApi({ endpoint, token_file: path });
    expect([(await stat(path)).mode & 0o777, (await stat(folder)).mode & 0o777]).toEqual([0o600, 0o700]);
    const token = (await readFile(path, "utf8")).trim();
    expect((await ask("GET", "/exporters", undefined, bearer(token))).status).toBe(200);
    expect((await ask("GET", "", undefined)).body.token_file).toBe(path);
  });

  it("denies access if it cannot be written, and is an error if it is configured", async () => {
    const folder = temporaryFolder();
    await writeFile(join(folder, "data"), "a file");
    const path = join(folder, "data", "admin-token");
    await expect(startApi({ endpoint, token_file: path })).rejects.toMatchObject({ path: ["token_file"] });
  });

  it("is not created if tokens are configured", async () => {
    const tokens = [{ name: "ops", token: createAdminToken(), roles: ["view"] }];
    const { ask } = await startApi({ endpoint, tokens });
    expect((await ask("GET", "")).body).toEqual({ name: "sluice", api: 1 });
  });
});
