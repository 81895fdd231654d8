// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the config language is written with ${}
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineExporter, secret } from "../../../../src/plugin.js";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import { isSecretSchema } from "../../../../src/runtime/config/schema/zod-schema.js";
import { isSecretKey } from "../../../../src/runtime/config/secrets/find-secrets.js";
import { maskParsedLine } from "../../../../src/runtime/config/secrets/mask-line.js";
import { redactedConfig } from "../../../../src/runtime/config/secrets/redacted-config.js";
import { withoutUrlSecrets } from "../../../../src/runtime/contract/schema/schema.js";
import { registry } from "../fakes.js";
import { loadText, withExporter } from "../load-text.js";

/** Everything that could be shown of a config: messages, suggestions, source lines, the printed config. */
function shown(text: string, env = {}): string {
  const { problems, lineAt, tree } = loadText(text, { env, sets: ["exporters.x.password=s3cret"] });
  const lines = problems.map(({ place }) => place && lineAt(place));
  const printed = tree && [true, false].map((defaults) => redactedConfig(tree, { registry, defaults }));
  return JSON.stringify([problems, lines, printed]);
}

describe("a secret", () => {
  it.each([
    ["in a secret field", withExporter("otlphttp", "endpoint: h\napi_token: [s3cret]")],
    ["in a header", withExporter("otlphttp", "endpoint: h\nheaders: {x-team: [s3cret]}")],
    ["in a list of headers", withExporter("otlphttp", "endpoint: h\nheaders: [{name: x-team, value: s3cret, x: 1}]")],
    ["under a path as key", `exporters::otlphttp::headers: {a: s3cret}\n${withExporter("debug", "encodin: x")}`],
    ["in a header that should be a map", withExporter("otlphttp", "endpoint: h\nheaders: s3cret")],
    ["under a key that is unknown but looks secret", withExporter("otlphttp", "endpoint: h\npassword: s3cret")],
    ["deeper under such a key", withExporter("otlphttp", "endpoint: h\ncredentials: {user: {name: s3cret}}")],
    [
      "in a component that does not exist",
      "exporters:\n  kafka:\n    sasl: {password: s3cret}\n    auth_token: s3cret\n",
    ],
    ["in a block of text", withExporter("otlphttp", "endpoint: h\nprivate_key: |\n  s3cret\n  s3cret\nencoding: bad")],
    ["in a file that is no YAML", "exporters:\n  a:\n    api_key: s3cret: [\n    password: s3cret\n"],
    ["under a mistyped key", withExporter("otlphttp", "endpoint: h\npasswrod: s3cret\napi_tokne: s3cret")],
    ["under a key that nothing resembles", withExporter("otlphttp", "endpoint: h\nzzz: {yyy: s3cret}")],
    [
      "under a header in a file that is no YAML",
      withExporter("otlphttp", 'headers:\n  x-team: "s3cret\n  other: s3cret\n other: s3cret'),
    ],
    ["under broken headers", withExporter("otlphttp", "endpoint: h\nheaders&:\n  x-team: s3cret: x")],
    ["as an alias, a tag or the head of a block", withExporter("otlphttp", "headers:\n  a: *s3cret\n  b: |s3cret\n")],
    ["in a URL", withExporter("otlphttp", "endpoint: [https://me:s3cret@host/]\nport: https://me:s3cret@host/")],
    ["in a URL's query", withExporter("otlphttp", "endpoint: h\nport: https://host/?api_key=s3cret")],
    [
      "beside another problem of its line",
      "exporters: {otlphttp: {endpoint: h, headers: {a: s3cret}, encodin: x}}\nservice: {pipelines: {logs: {receivers: [otlp], exporters: [otlphttp]}}}",
    ],
  ])("%s is not shown", (_, text) => {
    expect(shown(text)).not.toContain("s3cret");
  });

  it("of one or two characters is not looked for in what a schema says of it: such a text is in every word", () => {
    const token = secret().refine((text) => text.length > 8, {
      error: ({ input }) => `${input} is no token: write at least nine characters`,
    });
    const schema = z.strictObject({ token });
    const exporter = defineExporter({ type: "mine", schema, create: () => ({ send: async () => undefined }) });
    const message = (text: string) =>
      loadText(withExporter("mine", `token: "${text}"`), { registry: new Registry([...registry.all(), exporter]) })
        .problems[0]?.message;
    expect(message("at")).toBe("at is no token: write at least nine characters");
    expect(message("a")).toBe("a is no token: write at least nine characters");
    expect(message("abc")).toBe("[REDACTED] is no token: write at least nine characters");
  });

  it("is recognised by its schema, in any context", () => {
    const inner = secret();
    const wrapped = [
      inner.optional(),
      inner.nullable().default(null),
      inner.transform((text) => text.trim()),
      z.string().pipe(inner),
      z.preprocess((value) => value, inner),
      z.union([z.number(), inner]),
      z.lazy(() => inner).readonly(),
      inner.min(3).meta({ description: "a token" }),
    ];
    expect(wrapped.map(isSecretSchema)).toEqual(wrapped.map(() => true));
    expect(isSecretSchema(z.string().pipe(z.string()))).toBe(false);
  });

  it("is not in the words of a schema that throws on it", () => {
    const schema = z.strictObject({
      key: secret().transform((text): string => {
        throw new Error(`"${text}" is too short`);
      }),
    });
    const exporter = defineExporter({ type: "picky", schema, create: () => ({ send: async () => undefined }) });
    const { problems } = loadText(withExporter("picky", "key: s3cret"), {
      registry: new Registry([...registry.all(), exporter]),
    });
    expect(problems).toMatchObject([{ code: "schema_failed", message: expect.stringContaining("is too short") }]);
    expect(JSON.stringify(problems)).not.toContain("s3cret");
  });

  it.each([
    ["a whole value", "endpoint: h\nport: ${env:S}"],
    ["a part of a value", "endpoint: h\nport: x-${env:S}"],
    ["a wrong word", "endpoint: h\nencoding: ${env:S}"],
    ["a bad duration", "endpoint: h\ntimeout: ${env:S}"],
  ])("that came from a variable as %s is not in a message", (_, settings) => {
    const { problems } = loadText(withExporter("otlphttp", settings), { env: { S: "s3cret" } });
    expect(problems.length).toBeGreaterThan(0);
    expect(JSON.stringify(problems)).not.toContain("s3cret");
  });

  it("that came from a variable is not printed for a component that does not exist", () => {
    const { tree } = loadText("exporters: {kafka: {brokers: '${env:S}', topic: t}}", { env: { S: "s3cret" } });
    expect(redactedConfig(tree!, { registry, defaults: false })).toEqual({
      exporters: { kafka: { brokers: "[REDACTED]", topic: "t" } },
    });
  });

  it.each([
    ["x: {key: tenant, encoding: bad, api_key: s3cret}", "x: {key: tenant, encoding: bad, api_key: [REDACTED]"],
    ["- {a: 1, key: [tenant]}", "- {a: 1, key: [tenant]}"],
    ["- key: tenant", "- key: tenant"],
    ["dsn: host=h key=s3cret", "dsn: [REDACTED]"],
    ['text: "the key: s3cret"', 'text: "the key: [REDACTED]'],
  ])("is not what is called just key: %s", (line, masked) => {
    expect(maskParsedLine(line)).toBe(masked);
  });

  it.each([
    ["x: {headers: {Authorization: }, toke: }", "x: {headers: {Authorization: }, toke: }"],
    ["token: [ ]", "token: [REDACTED]"],
    ["password:", "password:"],
    ["h: {authorization: [REDACTED]}", "h: {authorization: [REDACTED]}"],
    ["h: {token: [REDACTED], a: [b], password: s3cret}", "h: {token: [REDACTED], a: [b], password: [REDACTED]"],
    ["password: [REDACTED] s3cret", "password: [REDACTED]"],
  ])("is not marked where there is none: %s", (line, masked) => {
    expect(maskParsedLine(line)).toBe(masked);
  });

  it("is not marked after a key without a value in a file that is not YAML", () => {
    const { problems, lineAt } = loadText('exporters:\n  a:\n    headers:\n    authorization:\n  b: "x\n');
    const place = { ...problems[0]!.place!, line: 4 };
    expect(lineAt(place)).toBe("    authorization:");
  });

  it("is marked where it is left out", () => {
    const { tree } = loadText(withExporter("otlphttp", "endpoint: https://u:p@h/\nheaders: {a: b}\napi_token: c"));
    expect(redactedConfig(tree!, { registry, defaults: false })["exporters"]).toEqual({
      otlphttp: { endpoint: "https://[REDACTED]@h/", headers: { a: "[REDACTED]" }, api_token: "[REDACTED]" },
    });
  });
});

describe("isSecretKey", () => {
  it.each([
    "password",
    "client_secret",
    "x-api-key",
    "apiKey",
    "Authorization",
    "bearer_token",
    "connectionString",
    "headers",
  ])("is true of %s", (key) => expect(isSecretKey(key)).toBe(true));

  it.each([
    "key_file",
    "endpoint",
    "metadata_keys",
    "routing_key",
    "allowed_headers",
    "token_url",
    "key",
    "path",
    "passthrough",
  ])("is false of %s", (key) => expect(isSecretKey(key)).toBe(false));
});

describe("withoutUrlSecrets", () => {
  it("keeps a URL without secrets", () => {
    expect(withoutUrlSecrets("https://u:p@s3cret@host/v1?auth=s3cret&x=1#jwt=s3cret")).toBe(
      "https://[REDACTED]@host/v1?auth=[REDACTED]&x=1#jwt=[REDACTED]",
    );
    expect(withoutUrlSecrets("https://host:4318/v1?x=1")).toBe("https://host:4318/v1?x=1");
    expect(withoutUrlSecrets("https://host/a@b?x=1;token=s3cret")).toBe("https://host/a@b?x=1;token=[REDACTED]");
    for (const slashes of ["", "/", "///", "\\\\"])
      expect(withoutUrlSecrets(`http:${slashes}u:s3cret@host/`)).toBe(`http:${slashes}[REDACTED]@host/`);
  });
});
