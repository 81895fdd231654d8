import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { ServerCredentials } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { otlpGrpcExporter } from "../../src/exporters/otlp-grpc/component.js";
import { otlpHttpExporter } from "../../src/exporters/otlp-http/component.js";
import { Batch, type ExporterFactory } from "../../src/plugin.js";
import { wire } from "../receivers/otlp/requests.js";
import { read, TLS_FILES } from "../runtime/net/tls/files.js";
import { GrpcJsServer } from "./grpc-server.js";
import { never, refusalOf, startExporter } from "./harness.js";

const batch = Batch.admit("logs", wire("logs"));
const [ca, cert, key] = [TLS_FILES.ca, TLS_FILES.serverCert, TLS_FILES.serverKey].map(read) as [Buffer, Buffer, Buffer];
const clientFiles = { cert_file: TLS_FILES.clientCert, key_file: TLS_FILES.clientKey };

/** Both ask for a client certificate. */
const https: Server = createServer(
  { ca, cert, key, requestCert: true, rejectUnauthorized: true },
  (request, response) => {
    request.resume().on("end", () => response.end());
  },
);
const grpc = new GrpcJsServer();
beforeAll(async () => {
  await new Promise<void>((resolve) => https.listen(0, "127.0.0.1", resolve));
  await grpc.start(ServerCredentials.createSsl(ca, [{ cert_chain: cert, private_key: key }], true));
});
afterAll(() => {
  https.close();
  https.closeAllConnections();
  grpc.kill();
});

it("otlp_http verifies the server that a Host header names", async () => {
  const endpoint = `https://127.0.0.1:${(https.address() as AddressInfo).port}`;
  const send = async (headers: object) => {
    const tls = { ca_file: TLS_FILES.ca, ...clientFiles };
    const exporter = await startExporter(otlpHttpExporter, { endpoint, headers, tls });
    return exporter.send(batch, never).finally(() => exporter.stop?.());
  };
  expect(await send({ host: "localhost:443" })).toBeUndefined();
  expect((await refusalOf(send({ Host: "elsewhere.example:443" }))).message).toMatch(/elsewhere\.example/);
});

describe.each<[string, ExporterFactory, () => string]>([
  ["otlp_http", otlpHttpExporter, () => `https://127.0.0.1:${(https.address() as AddressInfo).port}`],
  ["otlp_grpc", otlpGrpcExporter, () => `localhost:${grpc.port}`],
])("%s with TLS", (_, factory, endpoint) => {
  const send = async (tls: object) => {
    const exporter = await startExporter(factory, { endpoint: endpoint(), tls });
    try {
      return await exporter.send(batch, never);
    } finally {
      await exporter.stop?.();
    }
  };

  it("sends to a server whose CA it is given, showing its own certificate", async () => {
    expect(await send({ ca_file: TLS_FILES.ca, ...clientFiles })).toBeUndefined();
  });

  it("takes the CA as text", async () => {
    expect(await send({ ca_pem: ca.toString(), ...clientFiles })).toBeUndefined();
  });

  it("refuses a server it cannot trust, transiently, and says why", async () => {
    for (const tls of [{}, { ca_file: TLS_FILES.otherCa }]) {
      const refusal = await refusalOf(send({ ...tls, ...clientFiles }));
      expect([refusal.kind, refusal.message]).toEqual(["transient", expect.stringMatching(/certificate/)]);
    }
  });

  it("trusts every server if configured", async () => {
    expect(await send({ insecure_skip_verify: true, ...clientFiles })).toBeUndefined();
  });

  it("checks the certificate against server_name_override", async () => {
    expect(await send({ ca_file: TLS_FILES.ca, ...clientFiles, server_name_override: "localhost" })).toBeUndefined();
    const wrong = { ca_file: TLS_FILES.ca, ...clientFiles, server_name_override: "elsewhere.example" };
    expect((await refusalOf(send(wrong))).message).toMatch(/elsewhere\.example/);
  });

  it("is refused without the certificate that the server asks for", async () => {
    expect(await refusalOf(send({ ca_file: TLS_FILES.ca }))).toMatchObject({ kind: "transient" });
  });

  it.each([
    [{ ca_file: "/nowhere" }, ["tls", "ca_file"]],
    [{ cert_file: TLS_FILES.clientCert }, ["tls"]],
  ])("does not start with %o", async (tls, path) => {
    await expect(send(tls)).rejects.toMatchObject({ code: "SLUICE_START", path });
  });
});
