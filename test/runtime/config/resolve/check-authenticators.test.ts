import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import type { AuthSide } from "../../../../src/runtime/contract/auth.js";
import { defineBuiltInExtension } from "../../../../src/runtime/contract/built-in/define.js";
import { defineExporter, defineReceiver } from "../../../../src/runtime/contract/define.js";
import { authReference } from "../../../../src/runtime/contract/schema/schema.js";
import { brief, loadText } from "../load-text.js";

const nothing = { start: async () => {}, stop: async () => {} };
const registry = new Registry([
  defineReceiver({
    type: "in",
    schema: z.strictObject({
      ports: z.array(z.strictObject({ auth: authReference("server").optional() })).default([]),
    }),
    create: () => nothing,
  }),
  defineExporter({
    type: "out",
    schema: z.strictObject({ auth: authReference("client").optional() }),
    create: () => ({ send: async () => undefined }),
  }),
  defineBuiltInExtension({
    type: "keys",
    schema: z.strictObject({
      sides: z.array(z.enum(["server", "client"])).default(["server", "client"]),
      also: authReference("client").optional(),
    }),
    authenticates: ({ sides }: { sides: AuthSide[] }) => sides,
    create: () => nothing,
  }),
  defineBuiltInExtension({ type: "other", schema: z.strictObject({}), create: () => nothing }),
]);

function load(server: string, client: string, extensions = "keys: ", enabled = "keys") {
  const text = `receivers: {in: {ports: [{}, {${server}}]}}
exporters: {out: {${client}}}
extensions: {${extensions}}
service: {extensions: [${enabled}], pipelines: {logs: {receivers: [in], exporters: [out]}}}
`;
  return loadText(text, { registry });
}

const problems = (...args: Parameters<typeof load>) => load(...args).problems.map(brief);
const named = (id: string) => `auth: {authenticator: ${id}}`;

describe("an auth of a component", () => {
  it("may name an extension that runs and authenticates that side", () => {
    expect(problems(named("keys"), named("keys"))).toEqual([]);
    expect(problems(named("keys / b"), named("keys/b"), "keys/b: ", "keys/b")).toEqual([]);
  });

  it("names an extension that is defined", () => {
    const { problems: found } = load(named("kyes"), "");
    expect(found.map(brief)).toContain("error undefined_reference 1:53 receivers.in.ports.1.auth.authenticator");
    expect(found.find(({ code }) => code === "undefined_reference")?.suggestion).toBe('did you mean "keys"?');
  });

  it("names an extension that runs", () => {
    expect(problems(named("keys"), "", "keys: , other: ", "other")).toContain(
      "error extension_off 1:53 receivers.in.ports.1.auth.authenticator",
    );
  });

  it.each([
    ["other", "other: ", 'extension "other" cannot authenticate for a server'],
    [
      "keys",
      "keys: {sides: [client]}",
      'extension "keys" cannot authenticate for a server; it is configured for a client only',
    ],
  ])("names an extension that can: %s", (id, extensions, message) => {
    expect(load(named(id), "", extensions, id).problems).toMatchObject([{ code: "cannot_authenticate", message }]);
  });

  it("of a client is held against the other side", () => {
    expect(problems(named("keys"), named("keys"), "keys: {sides: [server]}")).toEqual([
      "error cannot_authenticate 2:41 exporters.out.auth.authenticator",
    ]);
  });

  it("says nothing of credentials in the URL, with a warning", () => {
    expect(problems("auth: {authenticator: keys, request_params: [token]}", "")).toEqual([
      "warning ignored_key 1:59 receivers.in.ports.1.auth.request_params",
    ]);
  });
});

it("an empty auth does not switch it off", () => {
  expect(problems("auth: ", "")).toEqual(["error missing_key 1:31 receivers.in.ports.1.auth.authenticator"]);
});

describe("extensions that ask each other", () => {
  const asks = (id: string) => `{also: {authenticator: ${id}}}`;

  it("start in the order of their dependencies, not of the config", () => {
    const { config } = load(
      "",
      "",
      `keys/a: ${asks("keys/b")}, keys/b: ${asks("keys")}, keys: , other: `,
      "other, keys/a, keys/b, keys",
    );
    expect([...(config?.extensions.keys() ?? [])]).toEqual(["other", "keys", "keys/b", "keys/a"]);
  });

  it("in a circle are a problem", () => {
    const { problems: found } = load("", "", `keys/a: ${asks("keys/b")}, keys/b: ${asks("keys/a")}`, "keys/a, keys/b");
    expect(found).toMatchObject([
      { code: "cannot_authenticate", message: 'extension "keys/b" would ask itself for credentials' },
    ]);
    expect(problems("", "", `keys: ${asks("keys")}`)).toEqual([
      "error cannot_authenticate 3:43 extensions.keys.also.authenticator",
    ]);
  });
});
