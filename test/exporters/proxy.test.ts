import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { otlpGrpcExporter } from "../../src/exporters/otlp-grpc/component.js";
import { otlpHttpExporter } from "../../src/exporters/otlp-http/component.js";
import { Batch } from "../../src/plugin.js";
import { useProxyEnvironment } from "../../src/runtime/net/proxy/proxy.js";
import { type Running, startReceiver } from "../receivers/otlp/harness.js";
import { wire } from "../receivers/otlp/requests.js";
import { type ConnectProxy, startProxy } from "../runtime/net/proxy/connect-proxy.js";
import { TLS_FILES as TLS } from "../runtime/net/tls/files.js";
import { never, refusalOf, startExporter } from "./harness.js";

describe("through a proxy", () => {
  let proxy: ConnectProxy;
  let running: Running;
  const logs = Batch.admit("logs", wire("logs", 100));
  const tls = { cert_file: TLS.serverCert, key_file: TLS.serverKey };
  beforeEach(async () => {
    proxy = await startProxy();
  });
  afterEach(async () => {
    useProxyEnvironment({});
    await running.receiver.stop();
    proxy.close();
  });

  async function send(factory: typeof otlpHttpExporter | typeof otlpGrpcExporter, config: object): Promise<void> {
    const exporter = await startExporter(factory as never, config);
    try {
      for (let i = 0; i < 3; i++) await exporter.send(logs, never);
    } finally {
      await exporter.stop?.();
    }
  }

  it("sends plain requests with whole URLs and credentials", async () => {
    running = await startReceiver({ http: { endpoint: "127.0.0.1:0" } });
    const proxy_url = `http://user:p%40ss@127.0.0.1:${proxy.port}`;
    await send(otlpHttpExporter, { endpoint: `http://127.0.0.1:${running.http}`, proxy_url });
    expect(running.intakes.logs.records).toBe(300);
    const authorization = `Basic ${Buffer.from("user:p@ss").toString("base64")}`;
    expect(proxy.seen[0]).toEqual(["POST", `http://127.0.0.1:${running.http}/v1/logs`, authorization]);
  });

  it("sends https in a tunnel, one for many requests, and still checks the certificate", async () => {
    running = await startReceiver({ http: { endpoint: "127.0.0.1:0", tls } });
    const proxy_url = `http://user:pass@127.0.0.1:${proxy.port}`;
    const endpoint = `https://localhost:${running.http}`;
    await send(otlpHttpExporter, { endpoint, proxy_url, tls: { ca_file: TLS.ca } });
    expect(running.intakes.logs.records).toBe(300);
    const authorization = `Basic ${Buffer.from("user:pass").toString("base64")}`;
    expect(proxy.seen).toEqual([["CONNECT", `localhost:${running.http}`, authorization]]);
    const untrusted = await refusalOf(send(otlpHttpExporter, { endpoint, proxy_url }));
    expect(untrusted.message).toMatch(/certificate/);
  });

  it("sends gRPC in a tunnel, with TLS and without, as HTTPS_PROXY says", async () => {
    for (const secure of [false, true]) {
      running = await startReceiver({ grpc: { endpoint: "0.0.0.0:0", ...(secure && { tls }) } });
      // Loopback is never reached through a proxy; this name resolves to loopback but does not look like it.
      useProxyEnvironment({ HTTPS_PROXY: `127.0.0.1:${proxy.port}` });
      const host = "0.0.0.0";
      const client = secure ? { ca_file: TLS.ca, server_name_override: "localhost" } : { insecure: true };
      await send(otlpGrpcExporter, { endpoint: `${host}:${running.grpc}`, tls: client });
      expect(running.intakes.logs.records).toBe(300);
      expect(proxy.seen.pop()).toEqual(["CONNECT", `${host}:${running.grpc}`, undefined]);
      if (!secure) await running.receiver.stop();
    }
  });

  it("reports the proxy's answer when it refuses, and tries again later", async () => {
    running = await startReceiver({ http: { endpoint: "127.0.0.1:0" } });
    proxy.status = 407;
    const proxy_url = `http://127.0.0.1:${proxy.port}`;
    const refusal = await refusalOf(send(otlpHttpExporter, { endpoint: "https://backend.test", proxy_url }));
    expect([refusal.kind, refusal.message]).toEqual([
      "transient",
      expect.stringContaining("the proxy answered HTTP/1.1 407"),
    ]);
    useProxyEnvironment({ HTTPS_PROXY: proxy_url });
    const overGrpc = await refusalOf(send(otlpGrpcExporter, { endpoint: "backend.test:4317" }));
    expect(overGrpc.message).toContain("the proxy answered HTTP/1.1 407");
  });
});
