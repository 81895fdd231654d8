import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Batch, batchFromJson } from "../../../src/plugin.js";
import { pii } from "../../../src/processors/pii/component.js";
import { PiiTreatment } from "../../../src/processors/pii/pii-treatment.js";
import { countedMetrics } from "../../runtime/queue/counted-metrics.js";
import { feed, owed } from "../../support/deliveries.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { asJson, contextOf, logOf, pairs, processed, readLog, unpaired } from "./pii-harness.js";

const KEY = "0123456789abcdef";
const treated = (config: unknown, batch: Batch) => readLog(processed(pii, config, batch));

describe("the pii processor", () => {
  it("masks everything it knows when nothing is configured", () => {
    const { body, attributes, resource } = treated(
      {},
      logOf(
        "mail anna@example.com",
        { "db.password": "x", "client.ip": "203.0.113.7", ok: "fine", n: 5 },
        { owner: "bob@example.com" },
      ),
    );
    expect(body).toBe("mail ****");
    expect(attributes).toEqual({ "db.password": "****", "client.ip": "****", ok: "fine", n: 5 });
    expect(resource).toEqual({ owner: "****" });
  });

  it("passes a batch without matches as the same object", () => {
    const clean = logOf("process_token_renewal_completed", { process_token_renewal_completed: "yes", token_count: 5 });
    expect(processed(pii, {}, clean)).toBe(clean);
  });

  it("leaves an allowed field unchanged and masks the next one", () => {
    const config = { fields: { note: "allow" } };
    const { attributes } = treated(
      config,
      logOf("x", { note: "a@b.io +14155552671", other: "a@b.io", deep: { note: "a@b.io" } }),
    );
    expect(attributes).toEqual({ note: "a@b.io +14155552671", other: "****", deep: { note: "a@b.io" } });
  });

  it.each([
    ["mask", { user: "****" }],
    ["partial", { user: "an****om" }],
    ["redact", {}],
    ["allow", { user: "anna@example.com" }],
    ["hash", { user: expect.stringMatching(/^hash\([0-9a-f]{32}\)$/) }],
  ])("treats a field by its key: %s", (strategy, expected) => {
    const config = { fields: { user: strategy }, hash_key: KEY };
    expect(treated(config, logOf("x", { user: "anna@example.com" })).attributes).toEqual(expected);
  });

  it.each([
    ["mask", "a **** b"],
    ["partial", "a j****@example.com b"],
    ["redact", "a [REDACTED] b"],
    ["allow", "a jo@example.com b"],
  ])("treats what a detector finds: %s", (strategy, expected) => {
    expect(treated({ detectors: { email: strategy } }, logOf("a jo@example.com b")).body).toBe(expected);
  });

  it.each([
    ["4111 1111 1111 1111", "****1111"],
    ["+1 415 555 2671", "****2671"],
    ["203.0.113.7", "203.0.****"],
    ["2001:db8::17", "2001:db8:****"],
    ["GB29 NWBK 6016 1331 9268 19", "****8 19"],
  ])("reduces %s to %s with the strategy partial", (text, expected) => {
    expect(treated({ strategy: "partial" }, logOf(text)).body).toBe(expected);
  });

  it("applies rules by path and pattern, deep into maps and lists", () => {
    const config = {
      fields: { "body.customer.name": "mask", "session.*": "redact", "body.items": "mask", "*.keep": "allow" },
    };
    const body = {
      customer: { name: "Anna", keep: "a@b.io", age: 30 },
      items: ["x", 7, { keep: "y", z: true }],
      note: ["a@b.io", "n"],
    };
    const { body: after, attributes } = treated(config, logOf(body, { "session.id": "s", "session.x": 1, other: "o" }));
    expect(after).toEqual({
      customer: { name: "****", keep: "a@b.io", age: 30 },
      items: ["****", "****", { keep: "y", z: "****" }],
      note: ["****", "n"],
    });
    expect(attributes).toEqual({ other: "o" });
  });

  it("treats secrets by their names, numbers too, and leaves booleans", () => {
    const { attributes } = treated(
      {},
      logOf("x", {
        pin_code: 1234,
        "http.request.header.authorization": ["x y"],
        auth: true,
        token: "",
        tokens: "many",
      }),
    );
    expect(attributes).toEqual({
      pin_code: "****",
      "http.request.header.authorization": ["****"],
      auth: true,
      token: "",
      tokens: "many",
    });
  });

  it("distinguishes similar keys", () => {
    const { attributes } = treated({}, logOf("x", { password: "x", pabcwood: "y", passwarD: "z" }));
    expect(attributes).toEqual({ password: "****", pabcwood: "y", passwarD: "z" });
  });

  it.each([
    ..."db.password X-Api-Key refreshToken APIToken DBPassword JWTToken AWSSecret PGPASSWORD userpassword".split(" "),
    ..."passwords cookies apiKeys password[0] password2 api_key_2 Set-Cookie client.secret".split(" "),
  ])("masks what is in a field called %s", (key) => {
    expect(treated({}, logOf(undefined, { [key]: "hunter2" })).attributes).toEqual({ [key]: "****" });
  });

  it.each(
    "token_count tokens gen_ai.usage.input_tokens password_changed_at passes cache_key_1 monkey pass_2 compass".split(
      " ",
    ),
  )("leaves what is in a field called %s", (key) => {
    expect(treated({}, logOf(undefined, { [key]: "42" })).attributes).toEqual({ [key]: "42" });
  });

  it("masks JSON that is nested too deeply, and treats everything around it", () => {
    const deep = (levels: number) => `{"a":"a@b.io","b":${"[".repeat(levels)}"x"${"]".repeat(levels)},"password":"p"}`;
    const body = (text: string) => treated({ json_bodies: true }, logOf(text)).body;
    expect(body(deep(50_000))).toBe(`{"a":"****","b":${"[".repeat(199)}"****"${"]".repeat(199)},"password":"****"}`);
    expect(body(deep(199))).toBe(`{"a":"****","b":${"[".repeat(199)}"x"${"]".repeat(199)},"password":"****"}`);
  });

  it("can turn off detectors and secret keys", () => {
    const config = { detectors: { email: false }, secret_keys: false };
    const batch = logOf("a@b.io", { password: "hunter" });
    expect(processed(pii, config, batch)).toBe(batch);
  });

  it("finds users' patterns, also in texts of other scripts", () => {
    const config = {
      patterns: [
        { name: "employee", pattern: "E-\\d{6}" },
        { name: "city", pattern: "Мос\\w*|Köln", strategy: "redact" },
      ],
    };
    expect(treated(config, logOf("ü E-123456 in Köln, E-1")).body).toBe("ü **** in [REDACTED], E-1");
  });

  it("treats spans with their events, links, names and status", () => {
    const span = {
      name: "GET /u/anna@example.com",
      traceId: "5b8efff798038103d269b633813fc60c",
      attributes: pairs({ "enduser.id": "anna@example.com" }),
      events: [{ name: "mail to anna@example.com", attributes: pairs({ "exception.message": "no anna@example.com" }) }],
      links: [
        {
          traceId: "5b8efff798038103d269b633813fc60c",
          spanId: "eee19b7ec3c1b174",
          attributes: pairs({ who: "anna@example.com" }),
        },
      ],
      status: { code: 2, message: "anna@example.com failed" },
    };
    const scope = { name: "lib", attributes: pairs({ owner: "anna@example.com" }) };
    const batch = batchFromJson(
      "traces",
      JSON.stringify({ resourceSpans: [{ scopeSpans: [{ scope, spans: [span] }] }] }),
    );
    const result = processed(pii, { summary: "debug" }, batch);
    expect(Buffer.from(result.bytes).includes("anna")).toBe(false);
    const after = asJson(result)["resourceSpans"]![0]!["scopeSpans"]![0]!;
    expect(after["spans"]![0]!["name"]).toBe("GET /u/****");
    expect(after["spans"]![0]!["status"]!["message"]).toBe("**** failed");
    expect(unpaired(after["scope"]!["attributes"])).toMatchObject({ owner: "****", "pii.treated.count": 1 });
    expect(unpaired(after["spans"]![0]!["attributes"])).toEqual({
      "enduser.id": "****",
      "pii.treated.count": 6,
      "pii.treated.keys": "enduser.id,exception.message,span.name,span.status_message,span_event.name,who",
    });
  });

  it("treats attributes of data points and exemplars", () => {
    const exemplars = [{ asDouble: 1, filteredAttributes: pairs({ user: "anna@example.com" }) }];
    const point = { asDouble: 1, attributes: pairs({ user: "anna@example.com", n: 1 }), exemplars };
    const metrics = [
      { name: "m", gauge: { dataPoints: [point] } },
      { name: "s", summary: { dataPoints: [{ attributes: pairs({ u: "anna@example.com" }) }] } },
    ];
    const batch = batchFromJson("metrics", JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] }));
    const result = processed(pii, {}, batch);
    expect(result.count).toBe(2);
    expect(Buffer.from(result.bytes).includes("anna")).toBe(false);
  });

  it("counts by detector", () => {
    const metrics = countedMetrics();
    processed(pii, { fields: { f: "mask" } }, logOf("a@b.io c@d.io 203.0.113.7", { f: "x", password: "y" }), metrics);
    const count = (detector: string) => metrics.value("sluice_pii_treated", { detector });
    expect(["email", "ipv4", "field", "secret_key", "phone"].map(count)).toEqual([2, 1, 1, 1, 0]);
  });

  it("only reports when told so", () => {
    const metrics = countedMetrics();
    const batch = logOf("a@b.io", { password: "y", gone: "z" });
    expect(processed(pii, { mode: "report", fields: { gone: "redact" }, summary: "debug" }, batch, metrics)).toBe(
      batch,
    );
    expect(metrics.value("sluice_pii_reported")).toBe(3);
    expect(metrics.value("sluice_pii_treated")).toBe(0);
  });

  it("adds to the summary of an earlier processor", () => {
    const first = processed(
      pii,
      { summary: "debug", detectors: { ipv4: false } },
      logOf("a@b.io", { ip: "203.0.113.7" }),
    );
    expect(readLog(processed(pii, { summary: "debug" }, first)).attributes).toEqual({
      ip: "****",
      "pii.treated.count": 2,
      "pii.treated.keys": "body,ip",
    });
  });

  it("treats JSON bodies if configured, and keeps everything else as written", () => {
    const json =
      '{ "id": 12345678901234567890, "user" : {"mail":"a@b.io","token":"x\\"y","n":1.0}, "l":[1,"a@b.io"], "gone":{"a":[1]}}';
    const config = { json_bodies: true, fields: { "body.gone": "redact", "body.user.n": "mask" } };
    expect(treated(config, logOf(json)).body).toBe(
      '{ "id": 12345678901234567890, "user" : {"mail":"****","token":"****","n":"****"}, "l":[1,"****"]}',
    );
    expect(treated(config, logOf("{not json a@b.io")).body).toBe("{not json ****");
  });

  it.each(['{"a":1,"b":2,"c":3}', '{"b":2,"a":1}', '{"a":1}', '{"a":1,"c":[{"a":1},{"b":2,"a":3}]}'])(
    "removes members from %s",
    (json) => {
      const without = (_: string, value: unknown) =>
        typeof value === "object" && value !== null && !Array.isArray(value)
          ? Object.fromEntries(Object.entries(value).filter(([key]) => key !== "a" && key !== "c"))
          : value;
      const config = { json_bodies: true, fields: { a: "redact", c: "redact" } };
      expect(JSON.parse(String(treated(config, logOf(json)).body))).toEqual(
        JSON.parse(JSON.stringify(JSON.parse(json), without)),
      );
    },
  );

  it.each([
    ["+1 (415) 555-2671", "+14155552671"],
    ["4111 1111 1111 1111", "4111-1111-1111-1111"],
    ["Anna@Example.com", "anna@example.com"],
    ["3C:22:FB:01:A9:7E", "3c-22-fb-01-a9-7e"],
    ["2001:0DB8:0:0::17", "2001:db8::17"],
    ["GB29 NWBK 6016 1331 9268 19", "GB29NWBK60161331926819"],
  ])("gives %s and %s the same hash", (one, other) => {
    const hashOf = (text: string) => treated({ strategy: "hash", hash_key: KEY }, logOf(`x ${text} y`)).body;
    expect(hashOf(one)).toMatch(/^x hash\([0-9a-f]{32}\) y$/);
    expect(hashOf(one)).toBe(hashOf(other));
  });

  it("finds national ids of the configured countries only", () => {
    const config = { detectors: { national_id: { countries: ["gb"] } } };
    expect(treated(config, logOf("AB123456C 12345678Z")).body).toBe("**** 12345678Z");
    expect(treated({}, logOf("AB123456C 12345678Z")).body).toBe("**** ****");
  });

  it("uses the names of fields that identify a value", () => {
    const { attributes } = treated(
      {},
      logOf("x", { "user.dob": "1984-05-12", passport_no: "C01X00T47", bsn: "111222333" }),
    );
    expect(attributes).toEqual({ "user.dob": "****", passport_no: "****", bsn: "****" });
  });

  const everywhere = batchFromJson(
    "metrics",
    JSON.stringify({
      resourceMetrics: [
        {
          scopeMetrics: [
            {
              scope: { name: "of a@b.io" },
              metrics: [
                {
                  name: "calls of a@b.io",
                  description: "by a@b.io",
                  gauge: {
                    dataPoints: [
                      {
                        asInt: "1",
                        attributes: [
                          { key: "a@b.io", value: { stringValue: "x" } },
                          { key: "raw", value: { bytesValue: Buffer.from("by a@b.io").toString("base64") } },
                        ],
                      },
                    ],
                  },
                },
              ],
            },
          ],
        },
      ],
    }),
  );

  it("leaves names, descriptions, keys and bytes alone unless they are configured", () => {
    expect(processed(pii, {}, everywhere)).toBe(everywhere);
    const config = { look_into: ["names", "descriptions", "keys", "bytes"], summary: "debug" };
    const scope = asJson(processed(pii, config, everywhere))["resourceMetrics"]![0]!["scopeMetrics"]![0]!;
    const metric = scope["metrics"]![0]!;
    expect(scope["scope"]).toMatchObject({ name: "of ****" });
    expect(metric).toMatchObject({ name: "calls of ****", description: "by ****" });
    expect(unpaired(metric["gauge"]!["dataPoints"]![0]!["attributes"])).toEqual({
      "****": "x",
      raw: Buffer.from("by ****").toString("base64"),
      "pii.treated.count": 2,
      "pii.treated.keys": "****,raw",
    });
  });

  it("treats trace state and names of events if configured", () => {
    const span = { traceId: `${"0".repeat(31)}1`, spanId: `${"0".repeat(15)}1`, traceState: "k=a@b.io" };
    const traces = batchFromJson("traces", JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }));
    const after = asJson(processed(pii, { look_into: ["trace_state"] }, traces));
    expect(after["resourceSpans"]![0]!["scopeSpans"]![0]!["spans"]![0]).toMatchObject({ traceState: "k=****" });
  });

  it("treats schema URLs and references to entities if configured", () => {
    const entityRefs = [
      { schemaUrl: "of a@b.io", type: "a@b.io", idKeys: ["x", "a@b.io"], descriptionKeys: ["a@b.io"] },
    ];
    const container = { resource: { entityRefs }, schemaUrl: "https://x/a@b.io/1", scopeLogs: [] };
    const scopeLogs = [{ schemaUrl: "a@b.io", logRecords: [{ body: { stringValue: "x" } }] }];
    const logs = batchFromJson("logs", JSON.stringify({ resourceLogs: [{ ...container, scopeLogs }] }));
    expect(processed(pii, {}, logs)).toBe(logs);
    const after = JSON.stringify(asJson(processed(pii, { look_into: ["schema_urls"] }, logs)));
    expect(after).not.toContain("a@b.io");
    expect(after.match(/\*\*\*\*/g)).toHaveLength(6);
  });

  it("removes unknown OTLP fields if configured", () => {
    // A request with a container, and in it the unknown field 99 with a text.
    const unknown = Buffer.concat([Buffer.from([0x9a, 0x06, 6]), Buffer.from("a@b.io")]);
    const batch = Batch.admit("logs", Buffer.concat([Buffer.from([10, unknown.length]), unknown]));
    expect(processed(pii, {}, batch)).toBe(batch);
    expect([...processed(pii, { look_into: ["unknown_fields"] }, batch).bytes]).toEqual([10, 0]);
  });

  it("permanently refuses a batch that it cannot treat, without revealing its content", () => {
    const metrics = countedMetrics();
    const { source, out } = feed(pii.create(pii.schema.parse({}), contextOf("logs", metrics)));
    const { delivery, outcomes } = owed(logOf("a@b.io"));
    const treat = PiiTreatment.prototype.treatInTurns;
    PiiTreatment.prototype.treatInTurns = () => {
      throw new Error("a@b.io");
    };
    try {
      source.next(delivery);
    } finally {
      PiiTreatment.prototype.treatInTurns = treat;
    }
    expect(out).toEqual([]);
    expect(outcomes).toMatchObject([{ refusal: { kind: "permanent", code: "SLUICE_PII_FAILED" } }]);
    expect(JSON.stringify(outcomes)).not.toContain("a@b.io");
    expect(metrics.value("sluice_pii_failed_batches")).toBe(1);
  });

  it("treats replayed dead letters, and leaves those that it has treated before unchanged", () => {
    const step = pii.replay!(pii.schema.parse({ strategy: "hash", hash_key: KEY }), contextOf("logs"));
    const once = step(logOf("a@b.io"));
    expect(readLog(once).body).toMatch(/^hash\(/);
    expect(step(once)).toBe(once);
  });

  it("reads the hash key from a file", () => {
    const file = join(temporaryFolder(), "key");
    writeFileSync(file, `${KEY}\n`);
    const by = (config: object) => treated({ strategy: "hash", ...config }, logOf("a@b.io")).body;
    expect(by({ hash_key_file: file })).toBe(by({ hash_key: KEY }));
  });

  it.each([
    [{ strategy: "hash" }, ["strategy"]],
    [{ fields: { user: "hash" } }, ["fields", "user"]],
    [{ detectors: { email: "hash" } }, ["detectors", "email"]],
    [{ detectors: { email: { strategy: "hash" } } }, ["detectors", "email"]],
    [{ secret_keys: "hash" }, ["secret_keys"]],
    [{ patterns: [{ name: "x", pattern: "x", strategy: "hash" }] }, ["patterns", 0, "strategy"]],
    [{ hash_key: "short" }, ["hash_key"]],
    [{ hash_key: KEY, hash_key_file: "x" }, ["hash_key_file"]],
    [{ hash_key_file: "/no/such/file" }, ["hash_key_file"]],
    [{ patterns: [{ name: "x", pattern: "(" }] }, ["patterns", 0, "pattern"]],
    [{ patterns: [{ name: "x", pattern: "(?=a)" }] }, ["patterns", 0, "pattern"]],
    [{ patterns: [{ name: "email", pattern: "x" }] }, ["patterns", 0, "name"]],
    [{ fields: { user: "hide" } }, ["fields", "user"]],
    [{ detectors: { emial: true } }, ["detectors"]],
  ])("refuses %j and names the place", (config, path) => {
    expect(pii.schema.safeParse(config).error?.issues.map((issue) => issue.path)).toEqual([path]);
  });

  it.each(["(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b"])(
    "reports that patterns do not support lookaround, as %s uses it",
    (pattern) => {
      const { error } = pii.schema.safeParse({ patterns: [{ name: "x", pattern }] });
      expect(error?.issues[0]?.message).toContain("there is no lookahead and no lookbehind");
    },
  );
});
