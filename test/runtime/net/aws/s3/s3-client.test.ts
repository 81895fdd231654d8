import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../../../src/runtime/contract/clock.js";
import { isRefusal, type Refusal } from "../../../../../src/runtime/contract/errors/refusal.js";
import { s3ObjectUrl } from "../../../../../src/runtime/net/aws/s3/s3-address.js";
import { S3Client } from "../../../../../src/runtime/net/aws/s3/s3-client.js";
import { useEnvironment } from "../../../../../src/runtime/system/environment.js";
import { S3_SERVERS, type S3Server, s3Environment } from "../../../../support/servers/s3/s3.js";
import { S3Emulator } from "../../../../support/servers/s3/s3-emulator.js";

const never = new AbortController().signal;
const context = { clock: systemClock, random: Math.random, logger: console as never };

beforeEach(() => useEnvironment(s3Environment));
afterAll(() => useEnvironment({}));

function clientOf(endpoint: string, more: { bucket?: string; isPathStyle?: boolean } = {}): S3Client {
  const address = { region: "us-east-1", bucket: "archive", endpoint: new URL(endpoint), isPathStyle: true, ...more };
  return new S3Client(address, "", context);
}

async function read(client: S3Client, key: string, start?: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of (await client.getObject(key, never, start)).chunks) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function keysOf(client: S3Client, prefix: string, options = {}): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of client.listObjects(prefix, never, options)) keys.push(key);
  return keys;
}

/** Resolves with the refusal that a promise rejects with. */
function refusal(promise: Promise<unknown>): Promise<Refusal> {
  return promise.then(
    () => expect.unreachable("it did not reject"),
    (error: unknown) => (isRefusal(error) ? error : Promise.reject(error)),
  );
}

describe.each(S3_SERVERS)("S3Client with %s", (_, start) => {
  let server: S3Server;
  let client: S3Client;
  beforeAll(async () => {
    server = await start();
    client = clientOf(server.endpoint);
  });
  afterAll(async () => {
    client.close();
    await server.close();
  });

  it("stores, reads and lists objects, whatever characters their keys have", async () => {
    const keys = ["k/year=2026/a b+c&d?e#f%g.json", "k/Grüße/日本.gz", "k/!'()*~-_:@,;$<>\"", "k/plain"];
    for (const key of keys) await client.putObject(key, Buffer.from(`body of ${key}`), never);
    for (const key of keys) expect((await read(client, key)).toString()).toBe(`body of ${key}`);
    expect(await keysOf(client, "k/")).toEqual(
      [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    );
  });

  it("keeps the encoding of an object, and reads from the middle of it", async () => {
    const headers = { "content-encoding": "gzip", "content-type": "application/json" };
    await client.putObject("encoded", Buffer.from("0123456789"), never, { headers });
    const object = await client.getObject("encoded", never);
    expect([object.contentEncoding, object.size]).toEqual(["gzip", 10]);
    await object.chunks.return(undefined);
    expect((await read(client, "encoded", 4)).toString()).toBe("456789");
  });

  it("lists page by page, and after a key", async () => {
    for (let i = 0; i < 25; i++) await client.putObject(`pages/${100 + i}`, Buffer.from("x".repeat(i)), never);
    const all = Array.from({ length: 25 }, (_, i) => `pages/${100 + i}`);
    expect(await keysOf(client, "pages/", { maxKeys: 7 })).toEqual(all);
    expect(await keysOf(client, "pages/", { maxKeys: 7, startAfter: "pages/110" })).toEqual(all.slice(11));
    const found = client.listObjects("pages/", never);
    await found.next();
    const { value: second } = await found.next();
    expect(second).toMatchObject({ size: 1, lastModified: expect.any(Number) });
    expect(second!.lastModified).toBeGreaterThan(Date.UTC(2026, 0));
  });

  it("uploads in parts, and the object is whole", async () => {
    const body = Buffer.alloc(11 * 1024 * 1024, "0123456789abcdef!");
    await client.uploadObject("parts", body, never, { headers: { "content-encoding": "zstd" } }, 5 * 1024 * 1024);
    expect((await read(client, "parts")).equals(body)).toBe(true);
    expect((await client.getObject("parts", never)).contentEncoding).toBe("zstd");
  });

  it("stores in another bucket", async () => {
    await client.putObject("elsewhere", Buffer.from("x"), never, { bucket: "other" });
    const other = clientOf(server.endpoint, { bucket: "other" });
    expect(await keysOf(other, "")).toEqual(["elsewhere"]);
    other.close();
  });

  it("holds the queue for a missing bucket and for wrong keys, and names a missing object", async () => {
    const lost = clientOf(server.endpoint, { bucket: "missing" });
    expect(await refusal(lost.putObject("a", Buffer.from("x"), never))).toMatchObject({
      ...{ kind: "permanent", category: "integration", status: "HTTP 404" },
      message: expect.stringContaining("NoSuchBucket"),
    });
    lost.close();
    expect(await refusal(client.getObject("no/such/object", never))).toMatchObject({ status: "NoSuchKey" });
    useEnvironment({ ...s3Environment, AWS_SECRET_ACCESS_KEY: "wrong-secret" });
    const stranger = clientOf(server.endpoint);
    expect(await refusal(stranger.putObject("a", Buffer.from("x"), never))).toMatchObject({
      ...{ kind: "permanent", category: "integration", status: "HTTP 403" },
      message: expect.stringContaining("SignatureDoesNotMatch"),
    });
    stranger.close();
  });

  it("answers a check", async () => {
    await expect(client.checkBucket(never)).resolves.toBeUndefined();
  });

  it("refuses keys that a URL would change", async () => {
    for (const key of ["a/../b", "./a", "a/."]) {
      expect(await refusal(client.putObject(key, Buffer.from("x"), never))).toMatchObject({ kind: "permanent" });
    }
  });
});

describe("S3Client with a server that misbehaves", () => {
  let emulator: S3Emulator;
  let client: S3Client;
  beforeEach(async () => {
    emulator = await new S3Emulator("archive").start();
    client = clientOf(emulator.endpoint);
  });
  afterEach(async () => {
    client.close();
    await emulator.close();
  });

  it.each([
    ["503 SlowDown", "throttled"],
    ["500 InternalError", "transient"],
    ["503 ServiceUnavailable", "transient"],
    ["400 RequestTimeout", "transient"],
    ["cut", "transient"],
    ["fail_after", "transient"],
    ["400 InvalidArgument", "permanent"],
    ["301 PermanentRedirect", "permanent"],
  ] as const)("turns %s into a %s refusal", async (fault, kind) => {
    emulator.fault = () => fault;
    expect(await refusal(client.putObject("a", Buffer.from("x"), never))).toMatchObject({ kind });
  });

  it("deletes the parts of a failed upload, and no object appears", async () => {
    emulator.fault = ({ query }) => (query.get("partNumber") === "3" ? "503 SlowDown" : undefined);
    const upload = client.uploadObject("parts", Buffer.alloc(100), never, {}, 10);
    expect(await refusal(upload)).toMatchObject({ kind: "throttled" });
    expect([emulator.uploads.size, emulator.objects("archive")]).toEqual([0, []]);
  });

  it("deletes the parts that a crash has left when the same object is stored again, and no others", async () => {
    // An agent that is killed cannot abort: here, nobody lets it.
    emulator.fault = ({ method, query }) =>
      method === "DELETE" || query.get("partNumber") === "3" ? "503 SlowDown" : undefined;
    for (const key of ["parts a+b", "parts a+b", "parts a+b/other"])
      await refusal(client.uploadObject(key, Buffer.alloc(100), never, {}, 10));
    expect(emulator.uploads.size).toBe(3);
    emulator.fault = () => undefined;
    await client.uploadObject("parts a+b", Buffer.alloc(100), never, {}, 10);
    expect([...emulator.uploads.values()].map(({ key }) => key)).toEqual(["parts a+b/other"]);
    expect(emulator.stored).toEqual(["parts a+b"]);
  });

  it("stores an object in parts although it may not list uploads", async () => {
    emulator.fault = ({ method, query }) => (method === "GET" && query.has("uploads") ? "403 AccessDenied" : undefined);
    await client.uploadObject("parts", Buffer.alloc(100), never, {}, 10);
    expect(emulator.stored).toEqual(["parts"]);
  });

  it("fails if the answer to the last request of an upload hides an error", async () => {
    emulator.fault = ({ method, query }) =>
      method === "POST" && query.has("uploadId") ? "200 InternalError" : undefined;
    expect(await refusal(client.uploadObject("parts", Buffer.alloc(100), never, {}, 10))).toMatchObject({
      kind: "transient",
    });
  });

  it("reads the stored bytes of a .gz object from a server that unpacks gzip, as Google Cloud Storage does", async () => {
    emulator.unpacksGzip = true;
    const packed = gzipSync("a line\n");
    await client.putObject("logs_1.json.gz", packed, never, { headers: { "content-encoding": "gzip" } });
    expect(await read(client, "logs_1.json.gz")).toEqual(packed);
  });

  it("fails if an object breaks off while it is read", async () => {
    await client.putObject("a", Buffer.alloc(100_000), never);
    emulator.fault = ({ method }) => (method === "GET" ? "cut_answer" : undefined);
    expect(await refusal(read(client, "a"))).toMatchObject({ kind: "transient" });
  });

  it("stops when it is aborted", async () => {
    const controller = new AbortController();
    emulator.fault = () => {
      controller.abort();
      return "cut";
    };
    expect(await refusal(client.putObject("a", Buffer.from("x"), controller.signal))).toMatchObject({
      code: "SLUICE_ABORTED",
    });
  });

  it("asks for the next page of a long list only when the one before has been read", async () => {
    for (let i = 0; i < 60; i++) await client.putObject(`many/${100 + i}`, Buffer.from("x"), never);
    const pagesAsked = () => emulator.calls.filter(({ query }) => query.has("list-type")).length;
    const list = client.listObjects("many/", never, { maxKeys: 10 });
    for (let read = 1; read <= 60; read++) {
      await list.next();
      expect(pagesAsked()).toBe(Math.ceil(read / 10));
    }
    expect(await list.next()).toEqual({ done: true, value: undefined });
    expect(pagesAsked()).toBe(6);
  });

  it("does not follow a list that goes round in a circle", async () => {
    for (const key of ["a", "b", "c"]) await client.putObject(key, Buffer.from("x"), never);
    const page = "<R><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></R>";
    const server = await startAnswering(page);
    const lost = clientOf(server.endpoint);
    expect(await refusal(keysOf(lost, ""))).toMatchObject({ kind: "transient" });
    lost.close();
    await server.close();
  });

  it.each([
    ["markup without an end", "<Contents>".repeat(300_000)],
    ["entities", `<R><Contents><Key>${"&amp;".repeat(500_000)}</Key></Contents></R>`],
    ["more than 16 MiB", "x".repeat(17 * 1024 * 1024)],
    ["bytes that are not text", "\u0000\ufffd".repeat(100)],
  ])("survives a list with %s", async (_, text) => {
    const server = await startAnswering(text);
    const lost = clientOf(server.endpoint);
    await keysOf(lost, "").catch((error: unknown) => expect(isRefusal(error)).toBe(true));
    lost.close();
    await server.close();
  });
});

describe("s3ObjectUrl", () => {
  const address = { region: "eu-central-1", bucket: "my-logs", isPathStyle: false };

  it("names the bucket in the host, unless its name, the address or the config does not allow it", () => {
    const host = (more: object) => s3ObjectUrl({ ...address, ...more }, "a/b").href;
    expect(host({})).toBe("https://my-logs.s3.eu-central-1.amazonaws.com/a/b");
    expect(host({ region: "cn-north-1" })).toBe("https://my-logs.s3.cn-north-1.amazonaws.com.cn/a/b");
    expect(host({ isInsecure: true })).toBe("http://my-logs.s3.eu-central-1.amazonaws.com/a/b");
    expect(host({ isPathStyle: true })).toBe("https://s3.eu-central-1.amazonaws.com/my-logs/a/b");
    expect(host({ bucket: "my.logs" })).toBe("https://s3.eu-central-1.amazonaws.com/my.logs/a/b");
    expect(host({ endpoint: new URL("http://10.0.0.1:9000/") })).toBe("http://10.0.0.1:9000/my-logs/a/b");
    expect(host({ endpoint: new URL("https://a.r2.example/base/") })).toBe("https://my-logs.a.r2.example/base/a/b");
  });

  it("names another bucket in the path, and refuses names that would change the path", () => {
    expect(s3ObjectUrl(address, "a", {}, "theirs").href).toBe("https://s3.eu-central-1.amazonaws.com/theirs/a");
    for (const bucket of ["", "..", "a/b", "a?b", "a#b", "a b"])
      expect(() => s3ObjectUrl(address, "a", {}, bucket)).toThrow("is not the name of a bucket");
  });
});

async function startAnswering(text: string): Promise<{ endpoint: string; close: () => Promise<void> }> {
  const { createServer } = await import("node:http");
  const server = createServer((_, response) => void response.end(text));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    endpoint: `http://127.0.0.1:${port}`,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}
