import { status } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { otlpGrpcExporter } from "../../src/exporters/otlp-grpc/component.js";
import { otlpHttpExporter } from "../../src/exporters/otlp-http/component.js";
import { Batch, type Exporter, type ExporterFactory, Refusal } from "../../src/plugin.js";
import type { AuthHeaders, ClientAuthenticator, ClientAuthRequest } from "../../src/runtime/contract/auth.js";
import { silentLogger } from "../../src/runtime/contract/observability.js";
import { startReceiver } from "../receivers/otlp/harness.js";
import { wire } from "../receivers/otlp/requests.js";
import { startProxy } from "../runtime/net/proxy/connect-proxy.js";
import { TLS_FILES } from "../runtime/net/tls/files.js";
import { GrpcJsServer } from "./grpc-server.js";
import { never, refusalOf, type Sink, startExporter, startSink } from "./harness.js";

const batch = Batch.admit("logs", wire("logs", 3));
const auth = { authenticator: "mine" };

/** Gives one token after the other: the next one when a token was refused. */
class Tokens implements ClientAuthenticator {
  readonly isConfidential = true;
  readonly asked: ClientAuthRequest[] = [];
  readonly refusals: AuthHeaders[] = [];
  private readonly tokens: string[];
  private headers: AuthHeaders | undefined;

  constructor(...tokens: string[]) {
    this.tokens = tokens;
  }

  async authorize(request: ClientAuthRequest): Promise<AuthHeaders> {
    this.asked.push(request);
    this.headers ??= { authorization: `Bearer ${this.tokens.shift()}` };
    return this.headers;
  }

  refused(headers: AuthHeaders): void {
    this.refusals.push(headers);
    if (this.headers === headers && this.tokens.length > 0) this.headers = undefined;
  }
}

let sink: Sink;
let grpc: GrpcJsServer;
beforeAll(async () => {
  grpc = await new GrpcJsServer().start();
});
afterAll(() => grpc.kill());
beforeEach(async () => {
  sink = await startSink();
  grpc.received.length = 0;
  grpc.respond = (done) => done(null, Buffer.alloc(0));
});
afterEach(() => sink.close());

async function start(factory: ExporterFactory, config: object, client: ClientAuthenticator): Promise<Exporter> {
  const exporter = await startExporter(factory, { ...config, auth }, client);
  onTestFinished(() => exporter.stop?.());
  return exporter;
}

/** Both exporters, the headers that their servers received, and servers that accept only one token. */
const TRANSPORTS = {
  otlp_http: {
    start: (client: ClientAuthenticator, more: object = {}) =>
      start(otlpHttpExporter, { endpoint: `http://127.0.0.1:${sink.port}`, ...more }, client),
    seen: (name: string) => sink.requests.map(({ headers }) => headers[name]),
    takeOnly(token: string) {
      sink.respond = (response, { headers }) => {
        response.statusCode = headers.authorization === token ? 200 : 401;
        response.end(`not ${headers.authorization} ${headers["x-api-key"]}`);
      };
    },
  },
  otlp_grpc: {
    start: (client: ClientAuthenticator, more: object = {}) =>
      start(otlpGrpcExporter, { endpoint: `127.0.0.1:${grpc.port}`, tls: { insecure: true }, ...more }, client),
    seen: (name: string) => grpc.received.map(({ metadata }) => metadata.get(name)[0]),
    takeOnly(token: string) {
      grpc.respond = (done, { metadata }) => {
        if (metadata.get("authorization")[0] === token) done(null, Buffer.alloc(0));
        else
          done({
            code: status.UNAUTHENTICATED,
            details: `not ${metadata.get("authorization")[0]} ${metadata.get("x-api-key")[0]}`,
          });
      };
    },
  },
};

describe.each(Object.entries(TRANSPORTS))("%s with an authenticator", (_, transport) => {
  it("sends the headers it gives, in place of configured ones, to every request", async () => {
    const exporter = await transport.start(new Tokens("one"), { headers: { Authorization: "old", "x-team": "a" } });
    await exporter.send(batch, never, { idempotencyKey: "k" });
    await exporter.send(batch, never);
    expect(transport.seen("authorization")).toEqual(["Bearer one", "Bearer one"]);
    expect(transport.seen("x-team")).toEqual(["a", "a"]);
    const [given, made] = transport.seen("sluice-idempotency-key");
    expect(given).toBe("k");
    expect(made).not.toBe("k");
  });

  it("removes headers that it gives as undefined", async () => {
    const client = { isConfidential: false, authorize: () => ({ "x-team": undefined, "x-more": "b" }) };
    const exporter = await transport.start(client, { headers: { "X-Team": "a" } });
    await exporter.send(batch, never);
    expect([transport.seen("x-team"), transport.seen("x-more")]).toEqual([[undefined], ["b"]]);
  });

  it("shows it the request: URL, headers, body and client metadata", async () => {
    const tokens = new Tokens("one");
    const exporter = await transport.start(tokens, { compression: "none" });
    const metadata = new Map([["tenant", ["acme"]]]);
    await exporter.send(batch, never, { metadata });
    const [request] = tokens.asked;
    expect(request).toMatchObject({ method: "POST", metadata });
    expect(request!.url.pathname).toMatch(/logs/i);
    expect(request!.headers["content-type"]).toMatch(/^application\/(x-protobuf|grpc)$/);
    expect(Buffer.from(request!.body).includes(Buffer.from(batch.bytes))).toBe(true);
  });

  it("retries once with other credentials when the server refuses the first", async () => {
    transport.takeOnly("Bearer two");
    const tokens = new Tokens("one", "two");
    const exporter = await transport.start(tokens);
    await exporter.send(batch, never);
    await exporter.send(batch, never);
    expect(transport.seen("authorization")).toEqual(["Bearer one", "Bearer two", "Bearer two"]);
    expect(tokens.refusals).toEqual([{ authorization: "Bearer one" }]);
  });

  it("is refused as before when there are no other credentials", async () => {
    transport.takeOnly("Bearer two");
    const exporter = await transport.start(new Tokens("one"));
    const refusal = await refusalOf(exporter.send(batch, never));
    expect(refusal).toMatchObject({ kind: "permanent", category: "integration" });
    expect(refusal.status).toMatch(/^(HTTP 401|UNAUTHENTICATED)$/);
    expect(transport.seen("authorization")).toHaveLength(1);
  });

  it("does not repeat credentials that the server repeats", async () => {
    transport.takeOnly("nothing");
    const client = {
      isConfidential: true,
      authorize: () => ({ "x-api-key": "s3cr3t-key", authorization: "Key t0ken-two" }),
    };
    const exporter = await transport.start(client);
    const refusal = await refusalOf(exporter.send(batch, never));
    expect(refusal.message).toContain("[REDACTED]");
    expect(refusal.message).not.toMatch(/s3cr3t-key|t0ken-two/);
    expect(refusal).toMatchObject({ kind: "permanent", category: "integration" });
  });

  it("is refused with what the authenticator throws, and sends nothing", async () => {
    const authorize = () => Promise.reject(new Refusal("transient", "the token server is down"));
    const exporter = await transport.start({ isConfidential: true, authorize });
    const refusal = await refusalOf(exporter.send(batch, never));
    expect(refusal).toMatchObject({ kind: "transient", message: "the token server is down" });
    expect(transport.seen("authorization")).toEqual([]);
  });

  it("stops when it is aborted while it waits for credentials", async () => {
    const exporter = await transport.start({ isConfidential: true, authorize: () => new Promise(() => {}) });
    const abort = new AbortController();
    const sending = exporter.send(batch, abort.signal);
    abort.abort();
    expect(await refusalOf(sending)).toMatchObject({ kind: "transient", code: "SLUICE_ABORTED" });
  });

  it("sends no header value that would start another header", async () => {
    const client = { isConfidential: true, authorize: () => ({ authorization: "Bearer a\r\nx-admin: yes" }) };
    const exporter = await transport.start(client);
    const error = (await exporter.send(batch, never).catch((reason: Error) => reason)) as Error;
    expect(error).toBeInstanceOf(Error);
    expect(error.message).not.toContain("Bearer a");
    expect(transport.seen("x-admin")).toEqual([]);
  });
});

describe("credentials", () => {
  const client = new Tokens("one");

  it("are not sent over gRPC without TLS, except to this machine", async () => {
    const insecure = { tls: { insecure: true } };
    const far = startExporter(otlpGrpcExporter, { endpoint: "collector:4317", ...insecure, auth }, client);
    await expect(far).rejects.toMatchObject({ code: "SLUICE_START", path: ["auth", "authenticator"] });
    const open = { ...client, authorize: () => ({}), isConfidential: false };
    for (const [endpoint, each] of [
      ["localhost:4317", client],
      ["unix:///tmp/x.sock", client],
      ["collector:4317", open],
    ] as const) {
      const exporter = await startExporter(otlpGrpcExporter, { endpoint, ...insecure, auth }, each);
      await exporter.stop?.();
    }
  });

  it("that sign HTTP requests are not used over gRPC", async () => {
    const signer = { isConfidential: true, isHttpOnly: true, authorize: () => ({}) };
    const starting = startExporter(otlpGrpcExporter, { endpoint: "localhost:4317", auth }, signer);
    await expect(starting).rejects.toThrow(/otlp_http/);
  });

  it("cause a warning when they go over plain http to another machine", async () => {
    const warned: object[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => void warned.push(fields) };
    for (const endpoint of ["http://127.0.0.1:1", "https://backend:1", "http://backend:1"]) {
      const exporter = await startExporter(otlpHttpExporter, { endpoint, auth }, client, logger);
      await exporter.stop?.();
    }
    expect(new Set(warned)).toEqual(
      new Set(
        ["logs", "traces", "metrics"].map((signal) => ({
          url: `http://backend:1/v1/${signal}`,
        })),
      ),
    );
  });

  it("do not go to the proxy in front of the server", async () => {
    const proxy = await startProxy();
    onTestFinished(() => proxy.close());
    const { serverCert: cert_file, serverKey: key_file, ca: ca_file } = TLS_FILES;
    const running = await startReceiver({ http: { endpoint: "127.0.0.1:0", tls: { cert_file, key_file } } });
    onTestFinished(() => running.receiver.stop());
    const config = { endpoint: `https://localhost:${running.http}`, proxy_url: `http://127.0.0.1:${proxy.port}` };
    const exporter = await start(otlpHttpExporter, { ...config, tls: { ca_file } }, client);
    await exporter.send(batch, never);
    expect(proxy.seen.map(([method]) => method)).toEqual(["CONNECT"]);
    expect(JSON.stringify(proxy.headers)).not.toMatch(/authorization|Bearer/i);
  });
});
