import { gunzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { awsS3Exporter } from "../../../src/exporters/archive/aws-s3/component.js";
import { Batch, batchFromJson, type Exporter, isRefusal, type SendOptions } from "../../../src/plugin.js";
import { decompress } from "../../../src/runtime/codecs/compression/decompress.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { S3Client } from "../../../src/runtime/net/aws/s3/s3-client.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { S3_SERVERS, type S3Server, s3Environment } from "../../support/servers/s3/s3.js";
import { S3Emulator } from "../../support/servers/s3/s3-emulator.js";
import { availableHere } from "../../support/telemetry/with-zstd.js";
import { exporterContext, never } from "../support.js";
import { logs, spans } from "../vendors/recorded.js";

const AT = Date.UTC(2026, 1, 3, 4, 5, 6);
const optionsOf = (idempotencyKey: string): SendOptions => ({
  idempotencyKey,
  delivery: { attempt: 1, firstSeenAt: AT, receiver: "otlp" },
});
const FOLDER = "year=2026/month=02/day=03/hour=04/minute=05";

beforeEach(() => useEnvironment(s3Environment));
afterAll(() => useEnvironment({}));

const made: Exporter[] = [];
afterEach(async () => {
  for (const exporter of made.splice(0)) await exporter.stop?.();
});

function exporterOf(endpoint: string, uploader: object = {}, more: object = {}): Exporter {
  const s3uploader = {
    endpoint,
    s3_bucket: "archive",
    s3_force_path_style: true,
    s3_partition_timezone: "UTC",
    ...uploader,
  };
  const config = awsS3Exporter.schema.parse({ s3uploader, ...more });
  const exporter = awsS3Exporter.create(config as never, exporterContext());
  made.push(exporter);
  return exporter;
}

const decoded = (body: Buffer, encoding?: string) =>
  encoding === "gzip"
    ? gunzipSync(body)
    : encoding === "zstd"
      ? decompress("zstd", body, { limit: 1e9, reserve: () => true })
      : body;

describe.each(S3_SERVERS)("the aws_s3 exporter with %s", (_, start) => {
  let server: S3Server;
  let client: S3Client;
  beforeAll(async () => {
    useEnvironment(s3Environment);
    server = await start();
    const address = { region: "us-east-1", bucket: "archive", endpoint: new URL(server.endpoint), isPathStyle: true };
    client = new S3Client(address, "", { clock: systemClock, random: Math.random, logger: console as never });
  });
  afterAll(async () => {
    client.close();
    await server.close();
  });

  async function objects(prefix: string): Promise<Map<string, Buffer>> {
    const found = new Map<string, Buffer>();
    for await (const { key } of client.listObjects(prefix, never)) {
      const object = await client.getObject(key, never);
      const chunks: Buffer[] = [];
      for await (const chunk of object.chunks) chunks.push(chunk);
      found.set(key, Buffer.from(await decoded(Buffer.concat(chunks), object.contentEncoding)));
    }
    return found;
  }

  it.each(availableHere(["none", "gzip", "zstd"]))(
    "stores a batch as an object of OTLP/JSON (compression %s)",
    async (compression) => {
      const batch = spans({ "service.name": "cart" }, {}, {});
      await exporterOf(server.endpoint, { s3_prefix: compression, file_prefix: "f-", compression }).send(
        batch,
        never,
        optionsOf("entry-1"),
      );
      const [[key, body] = expect.unreachable()] = await objects(`${compression}/`);
      const ending = { none: "json", gzip: "json.gz", zstd: "json.zst" }[compression];
      expect(key).toMatch(
        new RegExp(`^${compression}/${FOLDER}/f-traces_[0-9a-f]{24}\\.${ending!.replace(".", "\\.")}$`),
      );
      expect(batchFromJson("traces", body.toString()).bytes).toEqual(batch.bytes);
    },
  );

  it("stores the same entry again under the same name, and others beside it", async () => {
    const exporter = exporterOf(
      server.endpoint,
      { s3_base_prefix: "again//", s3_prefix: "p" },
      { marshaler: "otlp_proto" },
    );
    const batch = logs({}, {});
    for (const key of ["entry-1", "entry-1", "entry-2"]) await exporter.send(batch, never, optionsOf(key));
    const found = await objects("again/p");
    expect(found.size).toBe(2);
    for (const [key, body] of found) {
      expect(key).toMatch(/^again\/p\/year=2026\/.*\/logs_[0-9a-f]{24}\.binpb$/);
      expect(Buffer.from(Batch.admit("logs", body).bytes).equals(Buffer.from(batch.bytes))).toBe(true);
    }
  });

  it("divides records by the bucket and prefix that their resources name", async () => {
    const exporter = exporterOf(
      server.endpoint,
      { s3_base_prefix: "by", s3_prefix: "default" },
      { resource_attrs_to_s3: { s3_bucket: "bucket", s3_prefix: "prefix" } },
    );
    const batch = Batch.merge([
      logs({ prefix: "a/../../b" }, { body: { stringValue: "one" } }),
      logs({}, { body: { stringValue: "two" } }),
      logs({ prefix: "a/../../b" }, { body: { stringValue: "three" } }),
      logs({ bucket: "other" }, { body: { stringValue: "four" } }),
    ]);
    await exporter.send(batch, never, optionsOf("entry-1"));
    const found = [...(await objects("by/"))];
    expect(found.map(([key]) => key.replace(/_[0-9a-f]{24}/, "").replace(`/${FOLDER}`, ""))).toEqual([
      "by/a/b/logs.json",
      "by/default/logs.json",
    ]);
    expect(found[0]![1].toString()).toMatch(/one.*three/);
    expect(found[1]![1].toString()).toMatch(/two/);
    expect(found.some(([, body]) => body.includes("four"))).toBe(false);
  });

  it.each([
    ["the configured prefix", {}, { prefix: "same" }],
    ["the configured bucket", {}, { bucket: "archive" }],
    ["a prefix with another spelling", { prefix: "same" }, { prefix: "../same/" }],
  ])("keeps records together whose resources name the same object by %s", async (way, one, other) => {
    const folder = way.replaceAll(" ", "-");
    const exporter = exporterOf(
      server.endpoint,
      { s3_base_prefix: folder, s3_prefix: "same" },
      { resource_attrs_to_s3: { s3_bucket: "bucket", s3_prefix: "prefix" } },
    );
    const batch = Batch.merge([
      logs(one, { body: { stringValue: "one" } }),
      logs(other, { body: { stringValue: "two" } }),
    ]);
    await exporter.send(batch, never, optionsOf("entry-1"));
    const bodies = [...(await objects(`${folder}/`)).values()];
    expect(bodies.map((body) => batchFromJson("logs", body.toString()).bytes)).toEqual([batch.bytes]);
  });

  it("stores a large object in parts", async () => {
    const text = "x".repeat(1_000_000);
    const batch = logs({}, ...Array.from({ length: 11 }, (_, i) => ({ body: { stringValue: `${i} ${text}` } })));
    await exporterOf(server.endpoint, { s3_prefix: "large" }).send(batch, never, optionsOf("entry-1"));
    const [[, body] = expect.unreachable()] = await objects("large/");
    expect(Buffer.compare(batchFromJson("logs", body.toString()).bytes, batch.bytes)).toBe(0);
  });

  it("writes bodies as lines", async () => {
    const records = [
      { body: { stringValue: "a line" } },
      { body: { intValue: 7 } },
      { body: { kvlistValue: { values: [] } } },
    ];
    await exporterOf(server.endpoint, { s3_prefix: "body" }, { marshaler: "body" }).send(
      logs({}, ...records),
      never,
      optionsOf("entry-1"),
    );
    const [[key, body] = expect.unreachable()] = await objects("body/");
    expect([key.endsWith(".txt"), body.toString()]).toEqual([true, "a line\n7\n{}\n"]);
  });

  it("writes Sumo Logic's archive format", async () => {
    const resource = { _sourceName: 'the "name"', _sourceHost: "host", _sourceCategory: "cat", z: 1, a: "<b>" };
    const record = { observedTimeUnixNano: "1700000000123000000", attributes: { k: true }, body: { stringValue: "x" } };
    await exporterOf(server.endpoint, { s3_prefix: "sumo", compression: "gzip" }, { marshaler: "sumo_ic" }).send(
      logs(resource, record),
      never,
      optionsOf("entry-1"),
    );
    const [[key, body] = expect.unreachable()] = await objects("sumo/");
    expect(key).toMatch(/\.json\.gz$/);
    // The object is meant to stay compressed, so it has no Content-Encoding.
    expect(gunzipSync(body).toString()).toBe(
      '{"date": "2023-11-14 22:13:20.123 +0000 UTC","sourceName":"the \\"name\\"","sourceHost":"host","sourceCategory":"cat","fields":{"a":"\\u003cb\\u003e","z":1},"message":{"k":true,"log":"x"}}\n',
    );
  });

  it("names objects by a UUID that sorts by time", async () => {
    const exporter = exporterOf(server.endpoint, { s3_prefix: "uuid", unique_key_func_name: "uuidv7" });
    await exporter.send(logs({}, {}), never, optionsOf("entry-1"));
    const [[key] = expect.unreachable()] = await objects("uuid/");
    const uuid = /logs_([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json$/.exec(key);
    expect(Number.parseInt(uuid![1]! + uuid![2]!, 16)).toBe(AT);
  });

  it("is up if the bucket answers", async () => {
    await expect(exporterOf(server.endpoint).check!(never)).resolves.toBeUndefined();
  });
});

describe("the aws_s3 exporter", () => {
  let emulator: S3Emulator;
  beforeEach(async () => {
    emulator = await new S3Emulator("archive").start();
  });
  afterEach(() => emulator.close());

  it("sends the ACL and the storage class", async () => {
    const exporter = exporterOf(emulator.endpoint, { acl: "bucket-owner-full-control", storage_class: "GLACIER_IR" });
    await exporter.send(logs({}, {}), never, optionsOf("entry-1"));
    const [[, { headers }] = expect.unreachable()] = emulator.objects("archive");
    expect(headers).toMatchObject({
      "x-amz-acl": "bucket-owner-full-control",
      "x-amz-storage-class": "GLACIER_IR",
      "content-type": "application/json",
    });
  });

  it("stores the object once if the server said that it had failed", async () => {
    const exporter = exporterOf(emulator.endpoint);
    emulator.fault = () => "fail_after";
    const failed = await exporter.send(logs({}, {}), never, optionsOf("entry-1")).catch((error: unknown) => error);
    expect(isRefusal(failed) && failed.kind).toBe("transient");
    emulator.fault = () => undefined;
    await exporter.send(logs({}, {}), never, optionsOf("entry-1"));
    expect(emulator.objects("archive").length).toBe(1);
  });

  it("is not up while the server fails, but up if it only forbids the question", async () => {
    const exporter = exporterOf(emulator.endpoint);
    emulator.fault = () => "503 ServiceUnavailable";
    await expect(exporter.check!(never)).rejects.toThrow("503");
    emulator.fault = () => "403 AccessDenied";
    await expect(exporter.check!(never)).resolves.toBeUndefined();
  });

  it("refuses a batch whose bucket has no valid name, and one that sumo_ic cannot express", async () => {
    const attributes = { resource_attrs_to_s3: { s3_bucket: "bucket" } };
    const refused = [
      exporterOf(emulator.endpoint, {}, attributes).send(logs({ bucket: "../x" }, {}), never, optionsOf("1")),
      exporterOf(emulator.endpoint, {}, { marshaler: "sumo_ic" }).send(logs({}, {}), never, optionsOf("1")),
    ];
    for (const each of refused) {
      const error = await each.catch((thrown: unknown) => thrown);
      expect(isRefusal(error) && [error.kind, error.category]).toEqual(["permanent", "schema"]);
    }
  });

  it.each([
    [{ s3uploader: {} }, "s3_bucket"],
    [{ s3uploader: { s3_bucket: "b", s3_partition_format: "%Q" } }, "no such directive: %Q"],
    [{ s3uploader: { s3_bucket: "b", s3_partition_timezone: "Nowhere/City" } }, "expected a zone"],
    [{ s3uploader: { s3_bucket: "b", s3_partition: "minute" } }, "s3_partition_format"],
    [{ s3uploader: { s3_bucket: "b", acl: "open" } }, "bucket-owner-read"],
    [{ s3uploader: { s3_bucket: "b" }, encoding: "text_encoding" }, "marshaler"],
  ])("rejects the config %j", (config, message) => {
    const { error } = awsS3Exporter.schema.safeParse(config);
    expect(JSON.stringify(error?.issues)).toContain(message);
  });

  it("takes only logs with marshalers for logs", () => {
    const config = awsS3Exporter.schema.parse({ s3uploader: { s3_bucket: "b" }, marshaler: "body" });
    expect(awsS3Exporter.refusesSignal!(config as never, "logs")).toBeUndefined();
    expect(awsS3Exporter.refusesSignal!(config as never, "traces")).toContain("only logs");
  });
});
