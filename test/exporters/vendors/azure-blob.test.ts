import { createHmac } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { azureBlobExporter } from "../../../src/exporters/vendors/azureblob/component.js";
import { parseStorageConnection } from "../../../src/exporters/vendors/azureblob/storage-key.js";
import { Batch, batchFromJson, type SendOptions } from "../../../src/plugin.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { never, refusalOf, type Sink } from "../harness.js";
import { logs, recorded, spans } from "./recorded.js";

afterEach(() => useEnvironment({}));

const KEY = Buffer.from("a key of the account").toString("base64");
const AT = Date.UTC(2026, 1, 3, 4, 5, 6);
const OPTIONS: SendOptions = {
  idempotencyKey: "entry 1",
  delivery: { attempt: 1, firstSeenAt: AT, receiver: "otlp" },
};

const withKey = (url: string) => ({
  auth: { type: "connection_string", connection_string: `AccountName=shop;AccountKey=${KEY};BlobEndpoint=${url}` },
  blob_name_format: { timezone: "UTC" },
});
const start = (more: object = {}) => recorded(azureBlobExporter, (url) => ({ ...withKey(url), ...more }));
const created = (sink: Sink) => {
  sink.respond = (response) => response.writeHead(201).end();
};

/** The signature as the documentation of Shared Key gives it. */
function expectedSignature({ path, headers, body }: Sink["requests"][number]): string {
  const own = Object.entries(headers)
    .filter(([name]) => name.startsWith("x-ms-"))
    .sort()
    .map(([name, value]) => `${name}:${value}\n`)
    .join("");
  const text = `PUT\n\n\n${body.length}\n\n${headers["content-type"]}\n\n\n\n*\n\n\n${own}/shop${path}`;
  const signature = createHmac("sha256", Buffer.from(KEY, "base64")).update(text).digest("base64");
  return `SharedKey shop:${signature}`;
}

describe("the azureblob exporter", () => {
  it("writes a batch as a blob of OTLP/JSON, signed with the account's key", async () => {
    const { sink, exporter } = await start();
    let asked: string | undefined;
    sink.respond = (response, { method }) => {
      asked = method;
      response.writeHead(201).end();
    };
    const batch = spans({ "service.name": "cart" }, {});
    await exporter.send(batch, never, OPTIONS);
    const [request = expect.unreachable()] = sink.requests;
    expect(asked).toBe("PUT");
    expect(request.path).toMatch(/^\/traces\/2026\/02\/03\/traces_04_05_06\.json_\d{1,4}$/);
    expect(request.headers).toMatchObject({ "x-ms-blob-type": "BlockBlob", "if-none-match": "*" });
    expect(request.headers["authorization"]).toBe(expectedSignature(request));
    expect(batchFromJson("traces", request.body.toString()).bytes).toEqual(batch.bytes);
  });

  it("gives a batch the same name each time, and another one if that is taken", async () => {
    const { sink, exporter } = await start();
    sink.respond = (response) =>
      sink.requests.length === 2
        ? response.writeHead(409, { "x-ms-error-code": "BlobAlreadyExists" }).end()
        : response.writeHead(201).end();
    await exporter.send(logs({}, {}), never, OPTIONS);
    await exporter.send(logs({}, {}), never, OPTIONS);
    const [first, second, third] = sink.requests.map(({ path }) => path);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it("puts number, compression and protobuf where the config says", async () => {
    const { sink, exporter } = await recorded(azureBlobExporter, (url) => ({
      ...withKey(url),
      format: "proto",
      compression: "gzip",
      container: { logs: "telemetry" },
      blob_name_format: {
        logs_format: "shop 2006/logs.pb",
        serial_num_before_extension: true,
        serial_num_range: 1,
        timezone: "Asia/Tokyo",
      },
    }));
    created(sink);
    const batch = logs({}, {});
    await exporter.send(batch, never, OPTIONS);
    const [{ path, body } = expect.unreachable()] = sink.requests;
    expect(path).toBe("/telemetry/shop%202026/logs_0.pb.gz");
    expect(Batch.admit("logs", gunzipSync(body)).bytes).toEqual(batch.bytes);
  });

  it("takes a shared access signature into the query", async () => {
    const { sink, exporter } = await recorded(azureBlobExporter, (url) => ({
      auth: {
        type: "connection_string",
        connection_string: `BlobEndpoint=${url};SharedAccessSignature=sv=2021&sig=a%2Bb`,
      },
    }));
    created(sink);
    await exporter.send(logs({}, {}), never, OPTIONS);
    expect(sink.requests[0]!.path).toMatch(/\?sv=2021&sig=a%2Bb$/);
    expect(sink.requests[0]!.headers["authorization"]).toBeUndefined();
  });

  it("gets a token for an application, a workload or the machine", async () => {
    const file = join(temporaryFolder(), "token");
    await writeFile(file, "assertion\n");
    const application = { tenant_id: "t", client_id: "c" };
    const seen: string[] = [];
    for (const auth of [
      { type: "service_principal", ...application, client_secret: "s" },
      { type: "workload_identity", ...application, federated_token_file: file },
      { type: "system_managed_identity" },
      { type: "user_managed_identity", client_id: "c" },
    ]) {
      const { sink, exporter } = await recorded(azureBlobExporter, (url) => ({ url, auth }));
      const host = `http://127.0.0.1:${sink.port}`;
      useEnvironment({ AZURE_AUTHORITY_HOST: host, AZURE_POD_IDENTITY_AUTHORITY_HOST: host });
      sink.respond = (response, { url = "" }) =>
        url.includes("/oauth2/")
          ? response.end(JSON.stringify({ access_token: "tok", expires_in: "3600" }))
          : response.writeHead(201).end();
      await exporter.send(logs({}, {}), never, OPTIONS);
      const [asked, written] = sink.requests;
      seen.push(`${asked!.path.replace(/\?.*client_id=/, " ").replace(/\?.*/, "")} ${asked!.body.toString()}`);
      expect(written!.headers["authorization"]).toBe("Bearer tok");
    }
    expect(seen[0]).toMatch(/^\/t\/oauth2\/v2\.0\/token .*client_id=c.*client_secret=s/);
    expect(seen[1]).toMatch(/client_assertion=assertion$/);
    expect(seen.slice(2)).toEqual(["/metadata/identity/oauth2/token ", "/metadata/identity/oauth2/token c "]);
  });

  it("holds the queue while the container is missing or access is denied, and tries again when Azure is busy", async () => {
    const { sink, exporter } = await start();
    const kinds: string[] = [];
    for (const status of [404, 403, 503]) {
      sink.respond = (response) => response.writeHead(status).end();
      const { kind, category } = await refusalOf(exporter.send(logs({}, {}), never, OPTIONS));
      kinds.push(`${kind} ${category ?? ""}`.trim());
    }
    expect(kinds).toEqual(["permanent integration", "permanent integration", "transient"]);
    const hold_on = expect.arrayContaining(["403", "404"]);
    expect(azureBlobExporter.defaults).toMatchObject({ retry_on_failure: { hold_on } });
  });

  it("reads connection strings, and refuses those that allow nothing", () => {
    expect(parseStorageConnection(`DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${KEY}`)?.url).toBe(
      "https://a.blob.core.windows.net",
    );
    expect(parseStorageConnection("UseDevelopmentStorage=true")?.url).toBe("http://127.0.0.1:10000/devstoreaccount1");
    for (const text of ["", "AccountName=a", "AccountKey=k", "BlobEndpoint=ftp://x;SharedAccessSignature=s"])
      expect(parseStorageConnection(text)).toBeUndefined();
  });

  it("says what credentials need, and what it cannot do", () => {
    const problems = (config: object) =>
      azureBlobSchemaIssues(config).map(({ path, message }) => `${path.join(".")}: ${message}`);
    expect(problems({ url: "http://a", auth: { type: "service_principal", tenant_id: "t" } })).toEqual([
      "auth.client_id: expected client_id for type service_principal",
      "auth.client_secret: expected client_secret for type service_principal",
    ]);
    expect(problems({ auth: { type: "system_managed_identity" } })).toEqual([
      "url: expected the URL of the storage account",
    ]);
    const auth = { type: "connection_string", connection_string: `AccountName=a;AccountKey=${KEY}` };
    expect(
      problems({ auth, append_blob: { enabled: true }, blob_name_format: { template_enabled: true } }).map(
        (text) => text.split(":")[0],
      ),
    ).toEqual(["blob_name_format.template_enabled", "append_blob.enabled"]);
  });
});

const azureBlobSchemaIssues = (config: object) => azureBlobExporter.schema.safeParse(config).error?.issues ?? [];
