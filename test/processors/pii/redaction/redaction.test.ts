import { describe, expect, it } from "vitest";
import { batchFromJson } from "../../../../src/plugin.js";
import { redaction } from "../../../../src/processors/pii/redaction/component.js";
import { asJson, contextOf, logOf, pairs, processed, readLog, unpaired } from "../pii-harness.js";

const VISA = "4[0-9]{12}(?:[0-9]{3})?";
const card = "4111111111111111";
const attributesOf = (config: object, attributes: object) =>
  readLog(processed(redaction, config, logOf(undefined, attributes))).attributes;

describe("the redaction processor", () => {
  it("removes keys that are not allowed, and masks blocked values, with a summary", () => {
    const config = { allowed_keys: ["description", "email", "notes"], blocked_values: [VISA], summary: "debug" };
    const before = {
      description: "paid",
      email: "user@example.com",
      notes: `card ${card}!`,
      credit_card: card,
      internal_id: "abc",
    };
    expect(attributesOf(config, before)).toEqual({
      description: "paid",
      email: "user@example.com",
      notes: "card ****!",
      "redaction.redacted.keys": "credit_card,internal_id",
      "redaction.redacted.count": 2,
      "redaction.masked.keys": "notes",
      "redaction.masked.count": 1,
    });
  });

  it.each(["", "sha1", "hmac-sha256"])(
    "redacts a replayed dead letter, and leaves one that it has redacted before unchanged (%j)",
    (hash_function) => {
      const config = {
        allowed_keys: ["notes", "api_token", "free"],
        blocked_key_patterns: ["token"],
        blocked_values: [VISA],
        hash_function,
        hmac_key: "k".repeat(32),
        summary: "info",
      };
      const original = logOf(`body ${card}`, { notes: `card ${card}!`, api_token: "s3cret\ntwo", id: card, free: "x" });
      const step = redaction.replay!(redaction.schema.parse(config), contextOf("logs"));
      const redacted = processed(redaction, config, original);
      const replayed = readLog(step(original));
      expect(JSON.stringify(replayed)).not.toMatch(/4111|s3cret/);
      const { attributes } = readLog(redacted);
      const summaries = {
        "redaction.masked.count": 2,
        "redaction.redacted.count": 1,
        "redaction.body.masked.count": 1,
      };
      expect(attributes).toEqual({ ...replayed.attributes, ...summaries });
      expect(readLog(step(step(original)))).toEqual(replayed);
      expect(readLog(step(redacted))).toEqual(readLog(redacted));
    },
  );

  it("removes everything when nothing is allowed", () => {
    expect(attributesOf({}, { a: 1, b: "x" })).toEqual({});
  });

  it.each([
    ["info", { "redaction.masked.count": 1 }],
    ["silent", {}],
  ])("adds at %s only %j", (summary, expected) => {
    const after = attributesOf({ allow_all_keys: true, blocked_values: [VISA], summary }, { a: card });
    expect(after).toEqual({ a: "****", ...expected });
  });

  it("leaves ignored keys, counts them, and names keys of allowed values", () => {
    const config = {
      allow_all_keys: true,
      blocked_values: ["@"],
      allowed_values: [".+@mycompany\\.com"],
      ignored_keys: ["safe"],
      ignored_key_patterns: ["^trusted_"],
      summary: "debug",
    };
    expect(attributesOf(config, { safe: "@", trusted_x: "@", a: "me@mycompany.com", b: "you@else.com" })).toEqual({
      safe: "@",
      trusted_x: "@",
      a: "me@mycompany.com",
      b: "you****else.com",
      "redaction.masked.keys": "b",
      "redaction.masked.count": 1,
      "redaction.allowed.keys": "a",
      "redaction.allowed.count": 1,
      "redaction.ignored.count": 2,
    });
  });

  it("masks values of blocked keys of every type, line by line", () => {
    const config = { allow_all_keys: true, blocked_key_patterns: [".*token.*"] };
    expect(attributesOf(config, { my_token: "a\nb", token_n: 5, other: 5 })).toEqual({
      my_token: "****\n****",
      token_n: "****",
      other: 5,
    });
  });

  it("checks other types only if configured", () => {
    const config = { allow_all_keys: true, blocked_values: [VISA] };
    expect(attributesOf(config, { n: Number(card) })).toEqual({ n: Number(card) });
    expect(attributesOf({ ...config, redact_all_types: true }, { n: Number(card), f: 1.5 })).toEqual({
      n: "****",
      f: 1.5,
    });
  });

  it.each([
    ["md5", "900150983cd24fb0d6963f7d28e17f72"],
    ["sha1", "a9993e364706816aba3e25717850c26c9cd0d89d"],
    ["sha3", "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"],
    ["SHA3", "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"],
  ])("hashes with %s instead", (hash_function, expected) => {
    expect(attributesOf({ allow_all_keys: true, blocked_values: ["abc"], hash_function }, { a: "x abc" })).toEqual({
      a: `x ${expected}`,
    });
  });

  it("hashes with a key", () => {
    const config = {
      allow_all_keys: true,
      blocked_values: ["abc"],
      hash_function: "hmac-sha256",
      hmac_key: "k".repeat(32),
    };
    expect(attributesOf(config, { a: "abc" })["a"]).toMatch(/^[0-9a-f]{64}$/);
  });

  it("redacts bodies, and reports it in the attributes", () => {
    const config = {
      allowed_keys: ["user", "name", "list", "safe"],
      ignored_keys: ["skip"],
      blocked_key_patterns: ["^name$"],
      blocked_values: [VISA],
      summary: "debug",
    };
    const body = { user: { name: "anna", gone: 1 }, list: [card, "ok"], skip: card, out: "x", safe: Number(card) };
    expect(readLog(processed(redaction, config, logOf(body)))).toMatchObject({
      body: { user: { name: "****" }, list: ["****", "ok"], skip: card, safe: "****" },
      attributes: {
        "redaction.body.redacted.keys": "out,user.gone",
        "redaction.body.redacted.count": 2,
        "redaction.body.masked.keys": "list.[0],safe,user.name",
        "redaction.body.masked.count": 3,
        "redaction.body.ignored.count": 1,
      },
    });
    expect(readLog(processed(redaction, config, logOf(`pay ${card}`)))).toMatchObject({
      body: "pay ****",
      attributes: { "redaction.body.masked.keys": "body" },
    });
  });

  it("adds to the summary of an earlier processor", () => {
    const first = processed(
      redaction,
      { allow_all_keys: true, blocked_values: [VISA], summary: "debug" },
      logOf(undefined, { b: card, a: "x" }),
    );
    const second = processed(redaction, { allow_all_keys: true, blocked_values: ["x"], summary: "debug" }, first);
    expect(readLog(second).attributes).toEqual({
      b: "****",
      a: "****",
      "redaction.masked.keys": "a,b",
      "redaction.masked.count": 2,
    });
  });

  it("redacts resources, scopes, spans and events", () => {
    const span = { name: "n", attributes: pairs({ a: card }), events: [{ name: "e", attributes: pairs({ a: card }) }] };
    const container = {
      resource: { attributes: pairs({ a: card }) },
      scopeSpans: [{ scope: { attributes: pairs({ a: card }) }, spans: [span] }],
    };
    const batch = batchFromJson("traces", JSON.stringify({ resourceSpans: [container] }));
    const result = processed(redaction, { allow_all_keys: true, blocked_values: [VISA], summary: "info" }, batch);
    expect(Buffer.from(result.bytes).includes(card)).toBe(false);
    const event = asJson(result)["resourceSpans"]![0]!["scopeSpans"]![0]!["spans"]![0]!["events"]![0]!;
    expect(unpaired(event["attributes"])).toEqual({ a: "****", "redaction.masked.count": 1 });
  });

  it("passes an unchanged batch as the same object", () => {
    const batch = logOf("fine", { a: "x" });
    expect(processed(redaction, { allow_all_keys: true, blocked_values: [VISA] }, batch)).toBe(batch);
  });

  it("masks matches that appear only after an earlier pattern", () => {
    const config = { allow_all_keys: true, blocked_values: ["secret", "\\*{4}-\\d+", "never"] };
    expect(attributesOf(config, { a: "secret-12", b: "****-1", c: "plain" })).toEqual({
      a: "****",
      b: "****",
      c: "plain",
    });
  });

  it("masks values beyond ASCII and long ones like all others", () => {
    const config = { allow_all_keys: true, blocked_values: ["(?i)schlüssel=\\S+", "[a-z.]+@[a-z.]+", "\\bé\\w*"] };
    const long = "x".repeat(5000);
    const before = { a: "Schlüssel=1 ok", b: `${long} me@example.org`, c: "é", d: "né", e: 5 };
    expect(attributesOf(config, before)).toEqual({ ...before, a: "**** ok", b: `${long} ****`, d: "n****" });
  });

  it("replaces ids in the URLs of the given attributes, and keeps words", () => {
    const config = { allow_all_keys: true, url_sanitizer: { enabled: true, attributes: ["url.path"] } };
    const path = (url: string) => attributesOf(config, { "url.path": url })["url.path"];
    expect(path("/users/123e4567-e89b-12d3-a456-426614174000/orders/7?token=a#b")).toBe("/users/*/orders/*");
    expect(path("/v1/checkout/xkcdqz")).toBe("/v1/checkout/*");
    expect(path("/straße/Öl")).toBe("/*/*");
    expect(attributesOf(config, { other: "/users/5" })).toEqual({ other: "/users/5" });
  });

  it("keeps the name of a span that would consist of masks only, and replaces ids in others", () => {
    const config = { allow_all_keys: true, url_sanitizer: { enabled: true } };
    const nameOf = (name: string, kind: number, attributes: object = {}) => {
      const container = { scopeSpans: [{ spans: [{ name, kind, attributes: pairs(attributes) }] }] };
      const batch = batchFromJson("traces", JSON.stringify({ resourceSpans: [container] }));
      const json = asJson(processed(redaction, config, batch));
      return json["resourceSpans"]![0]!["scopeSpans"]![0]!["spans"]![0]!["name"];
    };
    expect(nameOf("GET /users/17", 2)).toBe("GET /users/*");
    expect(nameOf("/17/18", 2)).toBe("/17/18");
    expect(nameOf("GET /users/17", 1)).toBe("GET /users/17");
    expect(nameOf("users?page=5", 3)).toBe("users?page=5");
    expect(nameOf("users?page=5", 3, { "http.method": "GET" })).toBe("users");
  });

  it("treats a long path that is all ids, and one without an end, in one pass", () => {
    const config = { allow_all_keys: true, url_sanitizer: { enabled: true, attributes: ["u"] } };
    const long = "a".repeat(100_000);
    expect(attributesOf(config, { u: "/1".repeat(50_000) })).toEqual({ u: "/*".repeat(9) });
    expect(attributesOf(config, { u: `/${long}` })).toEqual({ u: "/*" });
  });

  it("accepts sanitizers that are off", () => {
    const config = {
      url_sanitizer: { enabled: false },
      db_sanitizer: { sql: { enabled: false, attributes: ["x"] }, sanitize_span_name: true },
    };
    expect(redaction.schema.safeParse(config).success).toBe(true);
  });

  it.each([
    [{ url_sanitizer: { enabled: true, attributes: "http.url" } }, ["url_sanitizer", "attributes"]],
    [{ db_sanitizer: { sql: { enabled: true } } }, ["db_sanitizer", "sql"]],
    [{ hash_function: "hmac-sha256" }, ["hmac_key"]],
    [{ hash_function: "hmac-sha512", hmac_key: "k".repeat(32) }, ["hmac_key"]],
    [{ hash_function: "sha9" }, ["hash_function"]],
    [{ blocked_values: ["ok", "("] }, ["blocked_values", 1]],
    [{ summary: "loud" }, ["summary"]],
  ])("refuses %j and names the place", (config, path) => {
    expect(redaction.schema.safeParse(config).error?.issues.map((issue) => issue.path)).toEqual([path]);
  });
});
