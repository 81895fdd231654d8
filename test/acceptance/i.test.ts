import { createHmac } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { batchFromJson } from "../../src/plugin.js";
import { sluiceProcess } from "../agent/cli/dlq/support.js";
import type { OtlpSink } from "../support/otlp-sink.js";
import { type LogInput, logBatch, spanBatch } from "../support/sampled.js";
import { bodies } from "../support/telemetry/batches.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { row } from "./row.js";
import { attributesIn, withAttributes } from "./support/attributes.js";
import { type OrdinaryLine, ordinaryLines } from "./support/ordinary-lines.js";
import { startBackendSink, startPipelines } from "./support/parallel-pipelines.js";
import { recordsIn, startAgent } from "./support/started-agent.js";

const KEY = "a key for the hashes of this test";
/** The first 20 digits are those of the value's HMAC; the others sign them. */
function hashOf(value: string) {
  const digits = createHmac("sha256", KEY).update(value).digest("hex").slice(0, 20);
  return expect.stringMatching(new RegExp(`^hash\\(${digits}[0-9a-f]{12}\\)$`));
}

const FIELDS = {
  secret: "mask",
  "user.id": "hash",
  account: "partial",
  "session.*": "redact",
  contact: "allow",
  "body.customer.name": "mask",
};
const ORIGINAL = {
  secret: "hunter22",
  "user.id": "u-17",
  account: "anna@example.com",
  "session.id": "s-314159",
  contact: "anna@example.com",
  user: { id: "u-17" },
  mail: "to anna@example.com",
};
/** The field beside an allowed one is masked all the same. */
const TREATED = {
  secret: "****",
  "user.id": hashOf("u-17"),
  account: "an****om",
  contact: "anna@example.com",
  user: { id: hashOf("u-17") },
  mail: "to ****",
};

row(
  "I1",
  "masks, hashes, shortens, removes and allows fields by key, pattern and path, wherever they are",
  "Field strategies mask, hash (keyed, stable), partial, redact, allow; by key, key pattern and nested path, on attributes, body (string and structured), resource, span events, links, metric attributes.",
  async () => {
    const pii = { hash_key: KEY, fields: FIELDS };
    const attributes = withAttributes(ORIGINAL);
    const resource = { attributes };

    const logs = await startPipelines("logs", { pii });
    const body = { ...ORIGINAL, customer: { name: "Anna", city: "Ulm" } };
    const sink = await logs.send(
      "pii",
      logBatch([{ body, attributes: ORIGINAL }, { body: "mail to anna@example.com failed" }], ORIGINAL),
    );
    expect(attributesIn(sink.batches[0]!)).toEqual({
      "/resourceLogs/resource": TREATED,
      "/resourceLogs/scopeLogs/logRecords": TREATED,
    });
    const treated = recordsIn(sink, (record) => (record.signal === "logs" ? record.body : undefined));
    expect(treated).toEqual([{ ...TREATED, customer: { name: "****", city: "Ulm" } }, "mail to **** failed"]);

    const traces = await startPipelines("traces", { pii });
    const [ids, links] = [
      { traceId: "5b8efff798038103d269b633813fc60c", spanId: "eee19b7ec3c1b174" },
      [{ attributes }],
    ];
    const span = {
      ...ids,
      name: "pay",
      attributes,
      events: [{ name: "paid", attributes }],
      links: [{ ...ids, ...links[0] }],
    };
    const spans = { resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] };
    const place = "/resourceSpans/scopeSpans/spans";
    expect(
      attributesIn((await traces.send("pii", batchFromJson("traces", JSON.stringify(spans)))).batches[0]!),
    ).toEqual({
      "/resourceSpans/resource": TREATED,
      [place]: TREATED,
      [`${place}/events`]: TREATED,
      [`${place}/links`]: TREATED,
    });

    const metrics = await startPipelines("metrics", { pii });
    const points = {
      resourceMetrics: [
        {
          resource,
          scopeMetrics: [{ metrics: [{ name: "orders", gauge: { dataPoints: [{ asInt: "1", attributes }] } }] }],
        },
      ],
    };
    expect(
      attributesIn((await metrics.send("pii", batchFromJson("metrics", JSON.stringify(points)))).batches[0]!),
    ).toEqual({
      "/resourceMetrics/resource": TREATED,
      "/resourceMetrics/scopeMetrics/metrics/gauge/dataPoints": TREATED,
    });
  },
);

/** Put together here, so that nobody takes them for keys that leaked. */
const API_KEY = ["sk", "live", "4eC39HqLyjWDarjtT1zdp7dc"].join("_");
const JWT = ["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"].join(
  ".",
);

const PLANTED: Readonly<Record<string, readonly [text: string, value: string]>> = {
  email: ["mail from anna@example.com today", "anna@example.com"],
  phone: ["call +49 151 23456789 now", "+49 151 23456789"],
  payment_card: ["card 4111 1111 1111 1111 declined", "4111 1111 1111 1111"],
  ssn: ["ssn 536-90-4399 checked", "536-90-4399"],
  ipv4: ["login of a client from 203.0.113.77 accepted", "203.0.113.77"],
  ipv6: ["login of a client from 2003:db8:85a3::8a2e:370:7334 accepted", "2003:db8:85a3::8a2e:370:7334"],
  iban: ["transfer to DE89370400440532013000 sent", "DE89370400440532013000"],
  jwt: [`got ${JWT} back`, JWT],
  api_key: [`charged with ${API_KEY} today`, API_KEY],
  bearer_token: ["sent with Bearer a8f5f167f44f4964e6c998dee827110c today", "a8f5f167f44f4964e6c998dee827110c"],
  url_credentials: ["connects to amqp://shop:hunter22@rabbit:5672 now", "hunter22"],
};

row(
  "I2",
  "finds personal data and secrets in texts, each kind unless it is switched off",
  "Value detectors built in: e-mail, phone, payment card (Luhn), SSN, IPv4/IPv6, IBAN, JWT, API keys and bearer tokens, URL credentials; each can be switched;",
  async () => {
    const off = Object.keys(PLANTED).map((name) => [`pii/${name}`, { detectors: { [name]: false } }]);
    const { send } = await startPipelines("logs", { pii: {}, ...Object.fromEntries(off) });
    const texts = Object.values(PLANTED).map(([text]) => text);
    const wrongCard = "number 4111 1111 1111 1112 seen";
    const sink = await send("pii", logBatch([...texts, wrongCard].map((body) => ({ body }))));
    const treated = bodies(sink.batches[0]!);
    for (const [i, [name, [text, value]]] of Object.entries(PLANTED).entries()) {
      expect(treated[i], name).not.toContain(value);
      // The text around it stays.
      expect([treated[i]!.split(" ")[0], treated[i]!.split(" ").at(-1)], name).toEqual([
        text.split(" ")[0],
        text.split(" ").at(-1),
      ]);
      const untouched = await send(`pii/${name}`, logBatch([{ body: text }]));
      expect(bodies(untouched.batches[0]!), `without ${name}`).toEqual([text]);
    }
    expect(treated.at(-1)).toBe(wrongCard);
  },
);

row(
  "I2",
  "finds users' patterns in linear time, and takes no event for a secret because of its name",
  "user patterns in linear time. 'process_token_renewal_completed' is not a secret.",
  async () => {
    const patterns = [
      { name: "employee", pattern: "E-\\d{6}" },
      { name: "evil", pattern: "(x+x+)+y" },
    ];
    const { send } = await startPipelines("logs", { pii: { patterns } });
    // A pattern that backtracks needs longer for this than the universe is old.
    const body = "x".repeat(20_000);
    const sink = await send("pii", logBatch([{ body }, { body: "badge E-123456 opened" }]));
    expect(bodies(sink.batches[0]!)).toEqual([body, "badge **** opened"]);

    const name = "process_token_renewal_completed";
    const record = {
      event: name,
      body: `${name} after 12 ms`,
      attributes: { [name]: "scheduler7completed", "db.password": "scheduler7completed" },
    };
    const [kept] = recordsIn({ batches: (await send("pii", logBatch([record]))).batches.slice(1) }, (each) => each);
    expect(kept!.name).toBe(name);
    expect(kept!.attributes.toObject()).toEqual({ [name]: "scheduler7completed", "db.password": "****" });
    expect(kept!.signal === "logs" && kept!.body).toBe(record.body);

    const file = join(temporaryFolder(), "lookahead.yaml");
    writeFileSync(
      file,
      `
receivers: {otlp: {protocols: {http: }}}
processors: {pii: {patterns: [{name: ahead, pattern: "(?=x)y"}]}}
exporters: {debug: }
service: {pipelines: {logs: {receivers: [otlp], processors: [pii], exporters: [debug]}}}
`,
    );
    const { code, err, out } = await sluiceProcess(["validate", "--config", file]);
    expect({ code, text: err + out }).toMatchObject({
      code: 1,
      text: expect.stringContaining("processors.pii.patterns.0.pattern"),
    });
  },
);

const PERSONAL = ["anna@example.com", "203.0.113.77", "4111 1111 1111 1111", "hunter22", "u-271828"];

row(
  "I3",
  "treats for each exporter by its pipeline: only the audit's bytes ever contain the original",
  "An allowed field is left whole; a masked one beside it is masked; per-exporter treatment by pipelines (audit gets the original, no other exporter's bytes ever contain it).",
  async () => {
    const [audit, analytics] = [await startBackendSink(), await startBackendSink()];
    for (const sink of [audit, analytics]) sink.decide(() => 503);
    const retry = "retry_on_failure: {initial_interval: 100ms, max_interval: 100ms}";
    const agent = await startAgent(`
processors: {pii: {hash_key: "${KEY}", fields: {user.id: hash, order.note: allow}}}
exporters:
  otlp_http/audit: {endpoint: "${audit.url}", ${retry}}
  otlp_http/analytics: {endpoint: "${analytics.url}", ${retry}}
service:
  pipelines:
    logs/audit: {receivers: [otlp], exporters: [otlp_http/audit]}
    logs/analytics: {receivers: [otlp], processors: [pii], exporters: [otlp_http/analytics]}
`);
    const record: LogInput = {
      body: `order 42 of ${PERSONAL[0]} from ${PERSONAL[1]} with ${PERSONAL[2]}`,
      attributes: { "db.password": PERSONAL[3], "user.id": PERSONAL[4], "order.note": "for ann@example.org" },
    };
    expect((await agent.send(logBatch([record]))).status).toBe(200);
    const onDisk = (exporter: string) =>
      filesIn(join(agent.directory, readdirSync(agent.directory).find((name) => name.includes(exporter))!));
    expect(personalIn(onDisk("audit"))).toEqual(PERSONAL);
    expect(onDisk("analytics").includes("order 42 of ")).toBe(true);
    expect(personalIn(onDisk("analytics"))).toEqual([]);
    for (const sink of [audit, analytics]) sink.decide(() => 200);
    await expect.poll(() => [audit.count, analytics.count]).toEqual([1, 1]);
    expect(personalIn(audit.batches[0]!.bytes)).toEqual(PERSONAL);
    expect(personalIn(analytics.batches[0]!.bytes)).toEqual([]);
    const [attributes] = recordsIn(analytics, (each) => each.attributes.toObject());
    expect(attributes).toEqual({
      "db.password": "****",
      "user.id": hashOf(PERSONAL[4]!),
      "order.note": "for ann@example.org",
    });
    expect(agent.output.stderr + agent.output.stdout).not.toContain(PERSONAL[0]);
    await agent.stop();
    expect(personalIn(onDisk("analytics"))).toEqual([]);
  },
);

const personalIn = (bytes: Uint8Array) => PERSONAL.filter((text) => Buffer.from(bytes).includes(text));

function filesIn(folder: string): Buffer {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  return Buffer.concat(files.filter((file) => statSync(file).isFile()).map((file) => readFileSync(file)));
}

row(
  "I4",
  "says what it treated if asked for",
  "Summary attributes of what was treated (count, keys) if asked for.",
  async () => {
    const { send } = await startPipelines("logs", { pii: { summary: "debug" }, "pii/silent": {} });
    const record = { body: "to anna@example.com", attributes: { password: "hunter22", plan: "gold" } };
    const summary = async (id: string) => {
      const [attributes] = recordsIn(await send(id, logBatch([record])), (each) => each.attributes.toObject());
      return attributes;
    };
    expect(await summary("pii")).toMatchObject({ "pii.treated.count": 2, "pii.treated.keys": "body,password" });
    expect(Object.keys((await summary("pii/silent"))!)).toEqual(["password", "plan"]);
  },
);

row(
  "I4",
  "changes less than 5 % of the ordinary lines of each of eleven collections",
  "< 5 % false positives on ordinary logs.",
  async () => {
    const { send, sinks } = await startPipelines("logs", { pii: {} });
    const shares: [string, number][] = [];
    for (const [name, lines] of ordinaryLines()) {
      sinks["pii"]!.batches.length = 0;
      const recordOf = ({ text = "", key = "none", value = "" }: OrdinaryLine, i: number) => ({
        body: text,
        attributes: { [key]: value, line: i },
      });
      await send("pii", logBatch(lines.map(recordOf)));
      const treated = recordsIn(sinks["pii"]!, (record) => ({
        body: record.signal === "logs" ? record.body : undefined,
        attributes: { ...record.attributes.toObject() },
      }));
      expect(treated.length).toBe(lines.length);
      // The pieces of a large request may overtake each other.
      const changed = treated.filter((one) => {
        const line = one.attributes["line"] as number;
        return !isDeepStrictEqual(one, recordOf(lines[line]!, line));
      });
      shares.push([name, changed.length / lines.length]);
    }
    expect(shares.length).toBe(11);
    expect(shares.filter(([, share]) => share >= 0.05)).toEqual([]);
  },
);

row(
  "I4",
  "refuses a batch that it cannot treat: nothing of it passes or reaches a disk",
  "Fails closed: if the processor errs, the record does not pass untreated.",
  async () => {
    const folder = temporaryFolder();
    const [preload, flag] = [join(folder, "failing-hash.mjs"), join(folder, "fails")];
    writeFileSync(
      preload,
      `
import crypto from "node:crypto";
import { existsSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const { createHmac } = crypto;
crypto.createHmac = (...args) => {
  if (existsSync(${JSON.stringify(flag)})) throw new Error("the hash of this machine is broken");
  return createHmac(...args);
};
syncBuiltinESMExports();
`,
    );
    const sink: OtlpSink = await startBackendSink();
    const yaml = `
processors: {pii: {strategy: hash, hash_key: "${KEY}"}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
service: {pipelines: {logs: {receivers: [otlp], processors: [pii], exporters: [otlp_http]}}}
`;
    const agent = await startAgent(yaml, { env: { NODE_OPTIONS: `--import=${preload}` } });
    const send = () => agent.send(logBatch([{ body: "to anna@example.com" }]));
    expect((await send()).status).toBe(200);
    await expect.poll(() => sink.count).toBe(1);
    writeFileSync(flag, "");
    const refused = await send();
    expect(refused.status).toBe(400);
    expect(await refused.text()).not.toContain("anna@example.com");
    expect(await agent.metric("sluice_pii_failed_batches_total")).toBe(1);
    expect(await agent.api("/dead-letters")).toMatchObject({ entries: [] });
    await agent.stop();
    expect(sink.count).toBe(1);
    expect(filesIn(agent.directory).includes("anna@example.com")).toBe(false);
  },
);

row(
  "I5",
  "takes the Collector's redaction keys",
  "The Collector's redaction keys (allow_all_keys, allowed_keys, blocked_values, hash_function ...) accepted.",
  async () => {
    const { send } = await startPipelines("traces", {
      "redaction/listed": {
        allowed_keys: ["plan", "card"],
        blocked_values: ["4[0-9]{12}(?:[0-9]{3})?"],
        summary: "debug",
      },
      "redaction/hashed": {
        allow_all_keys: true,
        blocked_key_patterns: [".*token.*"],
        ignored_keys: ["route"],
        allowed_values: [".+@mycompany\\.com"],
        blocked_values: ["@"],
        hash_function: "sha1",
      },
    });
    const attributes = {
      plan: "gold",
      card: "paid with 4111111111111111",
      user: "anna",
      "auth.token": "abc",
      route: "a@b",
      mail: "it@mycompany.com",
    };
    const treated = async (id: string) => {
      const [kept] = recordsIn(
        await send(id, spanBatch([{ trace: "5b8efff798038103d269b633813fc60c", name: "pay", attributes }])),
        (each) => each.attributes.toObject(),
      );
      return kept!;
    };
    const listed = await treated("redaction/listed");
    expect(listed).toMatchObject({
      plan: "gold",
      card: "paid with ****",
      "redaction.masked.count": 1,
      "redaction.masked.keys": "card",
      "redaction.redacted.count": 4,
    });
    expect(listed).not.toHaveProperty("user");
    expect(await treated("redaction/hashed")).toEqual({
      ...attributes,
      "auth.token": "a9993e364706816aba3e25717850c26c9cd0d89d",
    });
  },
);
