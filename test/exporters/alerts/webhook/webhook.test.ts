import { createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { webhookExporter } from "../../../../src/exporters/alerts/webhook/component.js";
import { batchFromJson, type Exporter } from "../../../../src/plugin.js";
import { logs } from "../../../support/telemetry/batches.js";
import { never, refusalOf, type Sink, startExporter, startSink } from "../../harness.js";

let sink: Sink;
let exporter: Exporter | undefined;
beforeEach(async () => {
  sink = await startSink();
});
afterEach(async () => {
  await exporter?.stop?.();
  await sink.close();
});

async function start(config: object): Promise<Exporter> {
  const endpoint = `http://127.0.0.1:${sink.port}/hooks/top-secret`;
  exporter = await startExporter(webhookExporter, { endpoint, allow_private_addresses: true, ...config });
  return exporter;
}

const sent = () => sink.requests.map(({ body }) => JSON.parse(body.toString()));
const key = (i: number) => sink.requests[i]!.headers["sluice-idempotency-key"];

describe("the webhook", () => {
  it("gets the JSON of the template for each record", async () => {
    const body = {
      text: '{{ service }}: {{ body }} ({{ attributes["http.route"] }})',
      at: "{{ time }}",
      level: "{{ severity }}",
    };
    const hook = await start({ body });
    const tree = {
      resourceLogs: [
        {
          resource: { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] },
          scopeLogs: [
            {
              logRecords: [
                {
                  timeUnixNano: "1700000000123000000",
                  severityText: "ERROR",
                  body: { stringValue: 'a "quoted" one\n' },
                  attributes: [{ key: "http.route", value: { stringValue: "/buy" } }],
                },
                { body: { stringValue: "two" } },
              ],
            },
          ],
        },
      ],
    };
    await hook.send(batchFromJson("logs", JSON.stringify(tree)), never);
    expect(sent()).toEqual([
      { text: 'shop: a "quoted" one\n (/buy)', at: "2023-11-14T22:13:20.123Z", level: "ERROR" },
      { text: "shop: two ()", at: null, level: "" },
    ]);
    expect(sink.requests[0]).toMatchObject({
      path: "/hooks/top-secret",
      headers: { "content-type": "application/json" },
    });
  });

  it("gets everything known about a record or batch when there is no template", async () => {
    await (await start({})).send(logs("one"), never);
    expect(sent()[0]).toMatchObject({ signal: "logs", body: "one", attributes: {}, dead_letter: null, id: key(0) });
    await exporter!.stop!();
    await (await start({ per: "batch" })).send(logs("one", "two"), never);
    expect(sent()[1]).toMatchObject({ signal: "logs", count: 2, records: [{ body: "one" }, { body: "two" }] });
  });

  it("gets integers beyond the range of numbers as texts", async () => {
    const record = { body: { arrayValue: { values: [{ intValue: "9223372036854775807" }, { intValue: "7" }] } } };
    const hook = await start({ body: "{{ body }}" });
    await hook.send(
      batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] })),
      never,
    );
    expect(sent()).toEqual([["9223372036854775807", 7]]);
  });

  it("can verify the sender and time of a request by its signature", async () => {
    const secret = "a-secret-of-16-or-more";
    const hook = await start({ signature: { secret } });
    await hook.send(logs("one"), never);
    const { headers, body } = sink.requests[0]!;
    const time = headers["x-sluice-timestamp"] as string;
    expect(Math.abs(Number(time) - Date.now() / 1000)).toBeLessThan(100);
    expect(headers["x-sluice-signature"]).toBe(
      `sha256=${createHmac("sha256", secret).update(`${time}.${body}`).digest("hex")}`,
    );
  });

  it("can have the signature of the body alone, in a header of its choice", async () => {
    const secret = "a-secret-of-16-or-more";
    const signature = { secret, algorithm: "sha512", header: "X-Hub-Signature", timestamp_header: "" };
    await (await start({ signature })).send(logs("one"), never);
    const { headers, body } = sink.requests[0]!;
    expect(headers["x-hub-signature"]).toBe(`sha512=${createHmac("sha512", secret).update(body).digest("hex")}`);
    expect(headers["x-sluice-timestamp"]).toBeUndefined();
  });

  it("gets no record twice when one of them fails: the queue learns which ones are left", async () => {
    const hook = await start({ body: "{{ body }}" });
    const bad = new Map([
      ["b", 422],
      ["d", 503],
    ]);
    sink.respond = (response) => response.writeHead(bad.get(sent().at(-1)) ?? 200).end("as told");
    const refusal = await refusalOf(hook.send(logs("a", "b", "c", "d", "e"), never));
    expect(sent()).toEqual(["a", "b", "c", "d"]);
    expect(refusal.kind).toBe("transient");
    expect([...refusal.undelivered!.marks]).toEqual([0, 1, 0, 2, 2]);
  });

  it.each([
    [400, "permanent"],
    [401, "permanent"],
    [302, "permanent"],
    [429, "transient"],
    [500, "transient"],
  ])("that answers the first one with %i refuses the batch, and is not asked again", async (status, kind) => {
    sink.respond = (response) => response.writeHead(status, { location: "http://127.0.0.1:1/" }).end();
    const refusal = await refusalOf((await start({})).send(logs("a", "b"), never));
    expect(refusal).toMatchObject({ kind, status: `HTTP ${status}`, undelivered: undefined });
    expect(sink.requests.length).toBe(1);
  });

  it("that refuses the credentials in the middle is not asked for the rest", async () => {
    const hook = await start({ body: "{{ body }}" });
    sink.respond = (response) => response.writeHead(sink.requests.length === 1 ? 200 : 403).end();
    const refusal = await refusalOf(hook.send(logs("a", "b", "c"), never));
    expect(sink.requests.length).toBe(2);
    expect([...refusal.undelivered!.marks]).toEqual([0, 1, 1]);
  });

  it("recognises a record by its key, whatever else is sent with it, and distinguishes equal records", async () => {
    const hook = await start({ body: "{{ body }}" });
    await hook.send(logs("a", "b", "b"), never, { idempotencyKey: "e-1" });
    await hook.send(logs("b"), never, { idempotencyKey: "e-1" });
    await hook.send(logs("b"), never, { idempotencyKey: "e-2" });
    const [a, b, again, left, other] = [0, 1, 2, 3, 4].map(key);
    expect(left).toBe(b);
    expect(new Set([a, b, again, other]).size).toBe(4);
  });

  it("does not appear with its path in errors, because that is often a secret", async () => {
    const hook = await start({});
    await sink.close();
    const refusal = await refusalOf(hook.send(logs("a"), never));
    expect(refusal.message).toContain(`127.0.0.1:${sink.port}`);
    expect(refusal.message).not.toContain("top-secret");
    sink = await startSink();
  });
});

describe("a webhook outside the public internet", () => {
  const problems = (config: object) =>
    (webhookExporter.schema.safeParse(config).error?.issues ?? []).map(
      ({ path, message }) => `${path.join(".")}: ${message}`,
    );

  it.each([
    ...["http://127.0.0.1/x", "http://localhost:1/x", "http://10.1.2.3/", "http://192.168.1.1/", "http://172.16.0.1/"],
    ...["http://169.254.169.254/latest/meta-data", "http://[::1]/", "http://[fd00::1]/", "http://[::ffff:127.0.0.1]/"],
    ...["http://0.0.0.0/", "http://100.64.1.1/", "http://2130706433/", "http://0x7f.1/", "http://foo.localhost/"],
  ])("is a problem of the config: %s", (endpoint) => {
    expect(problems({ endpoint })).toEqual([
      expect.stringContaining("endpoint: expected a host of the public internet"),
    ]);
    expect(problems({ endpoint, allow_private_addresses: true })).toEqual([]);
  });

  it("gets nothing when a host name resolves to it, either", async () => {
    // The machine's own name is in its hosts file, with an address of the machine.
    const { hostname } = await import("node:os");
    const hook = await startExporter(webhookExporter, { endpoint: `http://${hostname()}:${sink.port}/` });
    const refusal = await refusalOf(hook.send(logs("a"), never));
    expect(refusal.kind).toBe("transient");
    expect(sink.requests).toEqual([]);
    await hook.stop?.();
  });
});

it("reports config problems at their places", () => {
  const result = webhookExporter.schema.safeParse({
    endpoint: "https://example.com/x",
    body: { a: "{{ nothing }}" },
    signature: { secret: "short" },
  });
  expect(result.error!.issues.map(({ path }) => path.join("."))).toEqual(expect.arrayContaining(["signature.secret"]));
  const template = webhookExporter.schema.safeParse({
    endpoint: "https://example.com/x",
    body: { a: "{{ nothing }}" },
  });
  expect(template.error!.issues.map(({ path }) => path.join("."))).toEqual(["body.a"]);
  expect(webhookExporter.schema.safeParse({ endpoint: "ftp://example.com" }).success).toBe(false);
});
