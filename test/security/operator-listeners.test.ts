import { X509Certificate } from "node:crypto";
import { copyFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../src/agent/testing/free-port.js";
import { healthCheck } from "../../src/extensions/health-check.js";
import { systemClock } from "../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../src/runtime/contract/observability.js";
import { startApi } from "../extensions/admin-api/harness.js";
import { observe } from "../runtime/host/self-telemetry/support.js";
import { read, TLS_FILES } from "../runtime/net/tls/files.js";
import { temporaryFolder } from "../support/temporary-folder.js";

type Keys = Readonly<Record<string, unknown>>;

/** An endpoint for operators: starts it with these keys under `tls`, and returns a port and a path that answers 200. */
const LISTENERS: Readonly<Record<string, (port: number, tls: Keys, keys?: Keys) => Promise<[path: string, Keys]>>> = {
  async health_check(port, tls, keys = {}) {
    const host = { state: "ready", admin: undefined } as const;
    const context = { id: "health_check", kind: "extension", logger: silentLogger, metrics: noMetrics, host } as const;
    const config = healthCheck.schema.parse({ endpoint: `127.0.0.1:${port}`, tls, ...keys });
    const extension = healthCheck.create(config, { ...context, clock: systemClock, random: Math.random });
    onTestFinished(() => extension.stop());
    await extension.start();
    return ["/", {}];
  },
  async metrics(port, tls) {
    await observe({
      metrics: { readers: [{ pull: { exporter: { prometheus: { host: "127.0.0.1", port, tls } } } }] },
    }).start();
    return ["/metrics", {}];
  },
  async admin(port, tls) {
    const { owner } = await startApi({ endpoint: `127.0.0.1:${port}`, tls });
    return ["/api/v1/exporters", owner];
  },
};

/** Status, and the name of the certificate that was shown. */
function ask(
  port: number,
  path: string,
  headers: Keys,
  options: Keys = {},
): Promise<[status: number, subject: string]> {
  return new Promise((resolve, reject) => {
    const trusted = { ca: [read(TLS_FILES.ca)], servername: "localhost", agent: false };
    const target = { host: "127.0.0.1", port, path, headers: headers as Record<string, string>, ...trusted };
    const asked = request({ ...target, ...options }, (response) => {
      const { raw } = (response.socket as TLSSocket).getPeerCertificate();
      response.resume().on("end", () => resolve([response.statusCode!, new X509Certificate(raw).fingerprint256]));
    });
    asked.on("error", reject).end();
  });
}

const fingerprint = (file: string) => new X509Certificate(read(file)).fingerprint256;
const SERVER = { cert_file: TLS_FILES.serverCert, key_file: TLS_FILES.serverKey };
const RSA = { cert_file: TLS_FILES.rsaCert, key_file: TLS_FILES.rsaKey };
/** For the self-signed certificate. */
const ANY = { rejectUnauthorized: false };
const CLIENT = { cert: read(TLS_FILES.clientCert), key: read(TLS_FILES.clientKey) };

describe.each(Object.keys(LISTENERS))("the listener of %s", (name) => {
  const start = async (tls: Keys): Promise<(options?: Keys) => ReturnType<typeof ask>> => {
    const port = await freePort();
    const [path, headers] = await LISTENERS[name]!(port, tls);
    await expect(fetch(`http://127.0.0.1:${port}${path}`)).rejects.toThrow(); // there is no answer in plain text
    return (options) => ask(port, path, headers, options);
  };

  it("speaks TLS, shows its certificate, and takes no old version and no cipher without forward secrecy", async () => {
    const get = await start(SERVER);
    expect(await get()).toEqual([200, fingerprint(TLS_FILES.serverCert)]);
    const old = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" };
    await expect(get(old)).rejects.toThrow();
    const withRsa = await start(RSA);
    const modern = { ...ANY, maxVersion: "TLSv1.2", ciphers: "ECDHE-RSA-AES128-GCM-SHA256" };
    expect((await withRsa(modern))[0]).toBe(200);
    await expect(withRsa({ ...modern, ciphers: "AES128-GCM-SHA256" })).rejects.toThrow();
  });

  it("takes no older version than min_version", async () => {
    const get = await start({ ...SERVER, min_version: "1.3" });
    await expect(get({ maxVersion: "TLSv1.2" })).rejects.toThrow();
    expect((await get())[0]).toBe(200);
  });

  it("lets in only clients with a certificate of client_ca_file", async () => {
    const get = await start({ ...SERVER, client_ca_file: TLS_FILES.ca });
    await expect(get()).rejects.toThrow();
    expect((await get(CLIENT))[0]).toBe(200);
    const other = await start({ ...SERVER, client_ca_file: TLS_FILES.otherCa });
    await expect(other(CLIENT)).rejects.toThrow();
  });

  it("shows a new certificate when its files have changed, and keeps asking clients for theirs", async () => {
    const folder = temporaryFolder();
    const [cert_file, key_file] = [join(folder, "a.crt"), join(folder, "a.key")];
    copyFileSync(TLS_FILES.serverCert, cert_file);
    copyFileSync(TLS_FILES.serverKey, key_file);
    const get = await start({ cert_file, key_file, client_ca_file: TLS_FILES.ca, reload_interval: "20ms" });
    expect(await get(CLIENT)).toEqual([200, fingerprint(TLS_FILES.serverCert)]);
    copyFileSync(TLS_FILES.rsaCert, cert_file);
    copyFileSync(TLS_FILES.rsaKey, key_file);
    await expect.poll(async () => (await get({ ...CLIENT, ...ANY }))[1]).toBe(fingerprint(TLS_FILES.rsaCert));
    await expect(get(ANY)).rejects.toThrow();
  });
});

describe("pages of other origins", () => {
  const origin = "https://status.example.com";

  it("may read the health check over TLS where cors names them, and no others", async () => {
    const port = await freePort();
    await LISTENERS["health_check"]!(port, SERVER, { cors: { allowed_origins: ["https://status.example.com"] } });
    const allowed = (from: string) =>
      new Promise<unknown>((resolve, reject) => {
        const options = { host: "127.0.0.1", port, ca: [read(TLS_FILES.ca)], servername: "localhost", agent: false };
        const asked = request({ ...options, headers: { origin: from } }, ({ headers }) =>
          resolve([headers["access-control-allow-origin"], headers.vary]),
        );
        asked.on("error", reject).end();
      });
    expect(await allowed(origin)).toEqual([origin, "origin"]);
    expect(await allowed("https://evil.example")).toEqual([undefined, undefined]);
    expect(await allowed("null")).toEqual([undefined, undefined]);
  });

  it("learn nothing from the others, for any request", async () => {
    const [metricsPort, adminPort] = [await freePort(), await freePort()];
    const [metricsPath] = await LISTENERS["metrics"]!(metricsPort, SERVER);
    const [adminPath, owner] = await LISTENERS["admin"]!(adminPort, SERVER);
    const corsOf = (port: number, path: string, method: string, headers: Keys) =>
      new Promise<unknown>((resolve, reject) => {
        const options = { host: "127.0.0.1", port, path, method, ca: [read(TLS_FILES.ca)], servername: "localhost" };
        const asked = request({ ...options, agent: false, headers: { ...headers, origin } }, (response) => {
          const names = Object.keys(response.headers).filter((header) => header.startsWith("access-control-"));
          resolve([response.statusCode, names]);
        });
        asked.on("error", reject).end();
      });
    expect(await corsOf(metricsPort, metricsPath, "GET", {})).toEqual([200, []]);
    expect(await corsOf(metricsPort, metricsPath, "OPTIONS", {})).toEqual([405, []]);
    expect(await corsOf(adminPort, adminPath, "GET", owner)).toEqual([403, []]);
    expect(await corsOf(adminPort, adminPath, "OPTIONS", owner)).toEqual([403, []]);
  });
});
