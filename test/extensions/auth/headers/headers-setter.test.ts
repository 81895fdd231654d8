import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { headersSetter } from "../../../../src/extensions/auth/headers/component.js";
import type { AuthHeaders, ClientAuthenticator, ClientAuthRequest } from "../../../../src/runtime/contract/auth.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { contextOf, refusalOf } from "../requests.js";

async function started(config: object, other?: ClientAuthenticator, clock?: FakeClock) {
  const context = contextOf("headers_setter", clock);
  const authenticators = { client: () => other!, server: () => expect.unreachable() };
  const extension = headersSetter.create(headersSetter.schema.parse(config), { ...context, authenticators });
  await extension.start();
  return { ...context, extension, client: extension.clientAuthenticator! };
}

function request(metadata: Record<string, string[]> = {}, headers: Record<string, string> = {}): ClientAuthRequest {
  const url = new URL("https://h/v1/logs");
  return { method: "POST", url, headers, body: Buffer.from("x"), metadata: new Map(Object.entries(metadata)) };
}

describe("headers_setter", () => {
  it("sets headers from the client's metadata, from its attributes, or to a fixed value", async () => {
    const headers = [
      { key: "X-Scope-OrgID", from_context: "X-Tenant" },
      { key: "x-user", from_attribute: "Subject", action: "upsert" },
      { key: "x-region", value: "eu" },
    ];
    const { client } = await started({ headers });
    expect(client.metadataKeys).toEqual(["auth.subject", "x-tenant"]);
    const asked = request({ "x-tenant": ["acme"], "auth.subject": ["joe"], other: ["no"] });
    expect(client.authorize(asked)).toEqual({ "x-scope-orgid": "acme", "x-user": "joe", "x-region": "eu" });
  });

  it("sends none, or the default, where the client has no value", async () => {
    const rule = { key: "x-tenant", from_context: "tenant" };
    const without = await started({ headers: [rule] });
    expect(without.client.authorize(request())).toEqual({});
    const withDefault = await started({ headers: [{ ...rule, default_value: "anonymous" }] });
    expect(withDefault.client.authorize(request({ tenant: [""] }))).toEqual({ "x-tenant": "anonymous" });
  });

  it.each([
    ["insert", { there: undefined, new: "b" }],
    ["update", { there: "b", new: undefined }],
    ["upsert", { there: "b", new: "b" }],
  ])("can %s only", async (action, expected) => {
    const headers = ["there", "new"].map((key) => ({ key, action, value: "b" }));
    const { client } = await started({ headers });
    const given = await client.authorize(request({}, { there: "a" }));
    expect({ there: given["there"], new: given["new"] }).toEqual(expected);
  });

  it("deletes headers, which later rules see", async () => {
    const headers = [
      { action: "delete", key: "x" },
      { action: "update", key: "x", value: "b" },
      { action: "insert", key: "x", value: "c" },
    ];
    const { client } = await started({ headers: headers.slice(0, 2) });
    expect(client.authorize(request({}, { x: "a" }))).toEqual({ x: undefined });
    expect((await started({ headers })).client.authorize(request({}, { x: "a" }))).toEqual({ x: "c" });
  });

  it("reads a value from a file, and again when that changes", async () => {
    const clock = new FakeClock();
    const value_file = join(temporaryFolder(), "value");
    await writeFile(value_file, "one\n");
    const { client, extension } = await started({ headers: [{ key: "x", value_file }] }, undefined, clock);
    expect(client.authorize(request())).toEqual({ x: "one" });
    await writeFile(value_file, "another\n");
    const later = () => {
      clock.advance(5000);
      return client.authorize(request());
    };
    await expect.poll(later).toEqual({ x: "another" });
    await extension.stop();
  });

  it.each([[["a", "b"]], [["日本"]]])("refuses ambiguous or invalid values such as %o", async (values) => {
    const { client } = await started({ headers: [{ key: "x-tenant", from_context: "tenant" }] });
    const refusal = await refusalOf(() => client.authorize(request({ tenant: values })));
    expect(refusal).toMatchObject({ kind: "permanent", message: expect.stringContaining('"tenant"') });
  });

  it("adds another authenticator on top, which sees the headers that were set and learns of refusals", async () => {
    const seen: ClientAuthRequest[] = [];
    const refused: AuthHeaders[] = [];
    const inner = { authorization: "Bearer one" };
    const other: ClientAuthenticator = {
      isConfidential: true,
      isHttpOnly: true,
      metadataKeys: ["z"],
      authorize: async (asked) => {
        seen.push(asked);
        return inner;
      },
      refused: (headers) => void refused.push(headers),
    };
    const headers = [
      { key: "authorization", value: "mine" },
      { key: "x", from_context: "a" },
    ];
    const { client } = await started({ headers, additional_auth: "oauth2client" }, other);
    expect(client).toMatchObject({ isConfidential: true, isHttpOnly: true, metadataKeys: ["a", "z"] });
    const given = await client.authorize(request({ a: ["b"] }, { host: "h" }));
    expect(given).toEqual({ authorization: "Bearer one", x: "b" });
    expect(seen[0]).toMatchObject({ headers: { host: "h", authorization: "mine", x: "b" }, body: Buffer.from("x") });
    client.refused!(given);
    expect(refused).toEqual([inner]);
    expect(refused[0]).toBe(inner);
  });

  it.each([
    [{}, "headers"],
    [{ headers: [] }, "headers"],
    [{ headers: [{ key: "x" }] }, "headers.0"],
    [{ headers: [{ key: "x", value: "a", from_context: "b" }] }, "headers.0"],
    [{ headers: [{ key: "x", value: "a\nb: c" }] }, "headers.0.value"],
    [{ headers: [{ key: "x y", value: "a" }] }, "headers.0.key"],
    [{ headers: [{ key: "Content-Length", value: "1" }] }, "headers.0.key"],
    [{ headers: [{ key: "Host", value: "h" }] }, "headers.0.key"],
    [{ headers: [{ key: "x", action: "delete", value: "a" }] }, "headers.0"],
  ])("refuses %o at %s", (config, path) => {
    expect(headersSetter.schema.safeParse(config).error?.issues.map((issue) => issue.path.join("."))).toContain(path);
  });
});
