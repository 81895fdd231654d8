import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:https";
import { devNull, tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { credentials } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { read, TLS_FILES } from "../../runtime/net/tls/files.js";
import { GrpcJsClient } from "./grpc-client.js";
import { PROTO, type Running, startReceiver } from "./harness.js";
import { wire } from "./requests.js";

const tls = { cert_file: TLS_FILES.serverCert, key_file: TLS_FILES.serverKey };
const ca = read(TLS_FILES.ca);
const clientCertificate = { cert: read(TLS_FILES.clientCert), key: read(TLS_FILES.clientKey) };

function postTls(port: number, options: object = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path: "/v1/logs", method: "POST", headers: PROTO, ca, ...options });
    sent.on("response", (response) => {
      response.resume().on("end", () => resolve(response.statusCode!));
    });
    sent.on("error", reject);
    sent.end(wire("logs"));
  });
}

describe("the otlp receiver with TLS", () => {
  let running: Running;
  const start = async (more: object = {}) => {
    const endpoint = "127.0.0.1:0";
    const both = { endpoint, tls: { ...tls, ...more } };
    running = await startReceiver({ http: both, grpc: both });
  };
  afterEach(() => running.receiver.stop());

  it("takes HTTPS, and nothing unencrypted", async () => {
    await start();
    expect(await postTls(running.http)).toBe(200);
    await expect(fetch(`http://127.0.0.1:${running.http}/v1/logs`, { method: "POST" })).rejects.toThrow();
    expect(await postTls(running.http)).toBe(200);
  });

  it("takes gRPC over TLS", async () => {
    await start();
    const client = new GrpcJsClient(running.grpc, credentials.createSsl(ca));
    expect((await client.export("logs", wire("logs", 500))).code).toBe(0);
    expect(running.intakes.logs.records).toBe(500);
    client.close();
  });

  it("asks for a client certificate when told to", async () => {
    await start({ client_ca_file: TLS_FILES.ca });
    await expect(postTls(running.http)).rejects.toThrow();
    expect(await postTls(running.http, clientCertificate)).toBe(200);
    const { cert, key } = clientCertificate;
    const trusted = new GrpcJsClient(running.grpc, credentials.createSsl(ca, key, cert));
    const stranger = new GrpcJsClient(running.grpc, credentials.createSsl(ca));
    expect((await trusted.export("logs", wire("logs"))).code).toBe(0);
    expect((await stranger.export("logs", wire("logs"))).code).toBe(14);
    trusted.close();
    stranger.close();
  });

  it("refuses versions below min_version", async () => {
    await start({ min_version: "1.3" });
    await expect(postTls(running.http, { maxVersion: "TLSv1.2" })).rejects.toThrow();
    expect(await postTls(running.http)).toBe(200);
  });

  it("takes no cipher suite without forward secrecy unless it is named", async () => {
    const rsa = { cert_file: TLS_FILES.rsaCert, key_file: TLS_FILES.rsaKey };
    const old = { maxVersion: "TLSv1.2", ca: read(TLS_FILES.rsaCert) };
    const staticRsa = { ...old, ciphers: "AES128-GCM-SHA256:AES256-GCM-SHA384:AES256-SHA256" };
    await start(rsa);
    await expect(postTls(running.http, staticRsa)).rejects.toThrow(/handshake failure/);
    await expect(postTls(running.grpc, staticRsa)).rejects.toThrow(/handshake failure/);
    expect(await postTls(running.http, old)).toBe(200);
    await running.receiver.stop();
    await start({ ...rsa, cipher_suites: ["TLS_RSA_WITH_AES_128_GCM_SHA256"] });
    expect(await postTls(running.http, staticRsa)).toBe(200);
  });

  it("reads its certificate again when told to", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-tls-"));
    const [cert_file, key_file] = [join(folder, "cert"), join(folder, "key")];
    copyFileSync(TLS_FILES.serverCert, cert_file);
    copyFileSync(TLS_FILES.serverKey, key_file);
    await start({ cert_file, key_file, reload_interval: "10ms" });
    expect(await subjectOf(running.http)).toBe("Sluice test server");
    copyFileSync(TLS_FILES.clientCert, cert_file);
    copyFileSync(TLS_FILES.clientKey, key_file);
    while ((await subjectOf(running.http)) !== "Sluice test client");
    rmSync(folder, { recursive: true });
  });
});

function subjectOf(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", ca }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

describe("the otlp receiver's TLS settings", () => {
  it.each([
    [
      { cert_file: "/nowhere/cert.pem", key_file: TLS_FILES.serverKey },
      ["cert_file"],
      /cannot read \/nowhere\/cert\.pem/,
    ],
    [{ cert_file: TLS_FILES.serverCert }, [], /needs both/],
    [{ cert_file: devNull, key_file: devNull }, ["cert_file"], /is empty/],
    [{ cert_file: TLS_FILES.serverCert, key_file: TLS_FILES.clientKey }, [], /do not work/],
    [{ ...tls, client_ca_file: "/nowhere" }, ["client_ca_file"], /cannot read/],
  ])("are refused with their place (%o)", async (config, path, message) => {
    for (const protocol of ["http", "grpc"]) {
      const starting = startReceiver({ [protocol]: { endpoint: "127.0.0.1:0", tls: config } });
      await expect(starting).rejects.toMatchObject({
        code: "SLUICE_START",
        path: ["protocols", protocol, "tls", ...path],
        message: expect.stringMatching(message),
      });
    }
  });
});
