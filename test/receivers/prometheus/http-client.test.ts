import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { useProxyEnvironment } from "../../../src/runtime/net/proxy/proxy.js";
import { startProxy } from "../../runtime/net/proxy/connect-proxy.js";
import { read, TLS_FILES } from "../../runtime/net/tls/files.js";
import { until } from "../../support/until.js";
import { type Answer, startScraping, startTarget, valueIn } from "./harness.js";

const SERVER = { cert: read(TLS_FILES.serverCert), key: read(TLS_FILES.serverKey) };
const ANSWER: Answer = (_, response) => void response.setHeader("Content-Type", "text/plain").end("a 1\n");

/** A target over TLS; ends with the test. */
async function startSecureTarget(options: ServerOptions = SERVER, answer: Answer = ANSWER) {
  const requests: IncomingMessage[] = [];
  const server = createServer(options, (request, response) => {
    requests.push(request);
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, requests };
}

/** One scrape of this address with these keys: whether the target was up, and what was said. */
async function scrape(address: string, more: object) {
  const scraping = await startScraping([{ job_name: "shop", static_configs: [{ targets: [address] }], ...more }]);
  await until(() => expect(valueIn(scraping.scrape(0), "up")).toBeDefined());
  await until(() => expect(valueIn(scraping.scrape(0), "scrape_series_added")).toBeDefined());
  await scraping.receiver.stop();
  return { up: valueIn(scraping.scrape(0), "up"), said: scraping.said.join("\n") };
}

const tls = (more: object = {}) => ({ scheme: "https", tls_config: { ca_file: TLS_FILES.ca, ...more } });

describe("the prometheus receiver, over TLS", () => {
  it("scrapes a server whose certificate the CA of the config has signed, given as a file or as text", async () => {
    const { port } = await startSecureTarget();
    expect((await scrape(`127.0.0.1:${port}`, tls())).up).toBe(1);
    expect((await scrape(`localhost:${port}`, tls({ ca_file: undefined, ca: read(TLS_FILES.ca).toString() }))).up).toBe(
      1,
    );
  });

  it("does not scrape a server whose certificate another CA has signed, unless told to take any", async () => {
    const { port, requests } = await startSecureTarget();
    const { up, said } = await scrape(`127.0.0.1:${port}`, tls({ ca_file: TLS_FILES.otherCa }));
    expect([up, requests.length]).toEqual([0, 0]);
    expect(said).toMatch(/certificate/i);
    expect((await scrape(`127.0.0.1:${port}`, { scheme: "https" })).up).toBe(0);
    const any = tls({ ca_file: TLS_FILES.otherCa, insecure_skip_verify: true });
    expect((await scrape(`127.0.0.1:${port}`, any)).up).toBe(1);
  });

  it("holds the certificate to the name of the target, or to server_name", async () => {
    const { port, requests } = await startSecureTarget();
    const other = await scrape(`127.0.0.1:${port}`, tls({ server_name: "shop.example" }));
    expect([other.up, requests.length]).toEqual([0, 0]);
    expect(other.said).toMatch(/shop\.example/);
    expect((await scrape(`127.0.0.1:${port}`, tls({ server_name: "localhost" }))).up).toBe(1);
    expect((requests[0]!.socket as TLSSocket).servername).toBe("localhost");
  });

  it("shows its own certificate to a server that asks for one", async () => {
    const { port, requests } = await startSecureTarget({
      ...SERVER,
      ca: read(TLS_FILES.ca),
      requestCert: true,
      rejectUnauthorized: true,
    });
    expect((await scrape(`127.0.0.1:${port}`, tls())).up).toBe(0);
    const own = tls({ cert_file: TLS_FILES.clientCert, key_file: TLS_FILES.clientKey });
    expect((await scrape(`127.0.0.1:${port}`, own)).up).toBe(1);
    expect((requests[0]!.socket as TLSSocket).getPeerCertificate().subject.CN).toBe("Sluice test client");
  });

  it("does not speak a version that is older than min_version", async () => {
    const { port } = await startSecureTarget({ ...SERVER, maxVersion: "TLSv1.2" });
    expect((await scrape(`127.0.0.1:${port}`, tls())).up).toBe(1);
    expect((await scrape(`127.0.0.1:${port}`, tls({ min_version: "TLS13" }))).up).toBe(0);
  });

  it("does not start with a certificate that cannot be read, and says which key names it", async () => {
    const job = { job_name: "shop", static_configs: [{ targets: ["127.0.0.1:1"] }] };
    await expect(startScraping([{ ...job, ...tls({ ca_file: "/nowhere.crt" }) }])).rejects.toThrow(/nowhere\.crt/);
  });

  it("sends user and password, and a token from a file that changes, over TLS alone", async () => {
    const { port, requests } = await startSecureTarget();
    const basic = { ...tls(), basic_auth: { username: "me", password: "secret" } };
    expect((await scrape(`127.0.0.1:${port}`, basic)).up).toBe(1);
    expect(requests.at(-1)!.headers.authorization).toBe(`Basic ${Buffer.from("me:secret").toString("base64")}`);
    const file = join(await mkdtemp(join(tmpdir(), "sluice-scrape-")), "token");
    await writeFile(file, "first\n");
    const target = { job_name: "shop", static_configs: [{ targets: [`127.0.0.1:${port}`] }] };
    await startScraping([{ ...target, ...tls(), bearer_token_file: file }]);
    await until(() => expect(requests.at(-1)!.headers.authorization).toBe("Bearer first"));
    await writeFile(file, "second\n");
    await until(() => expect(requests.at(-1)!.headers.authorization).toBe("Bearer second"));
  });

  it("does not repeat credentials in the clear when a server redirects it from TLS to plain HTTP", async () => {
    const plain = await startTarget("a 1\n");
    const [host, port] = plain.address.split(":");
    const away: Answer = (_, response) => void response.writeHead(302, { Location: `http://${host}:${port}/` }).end();
    const secure = await startSecureTarget(SERVER, away);
    const { up } = await scrape(`127.0.0.1:${secure.port}`, { ...tls(), bearer_token: "t" });
    expect([up, plain.requests[0]!.headers.authorization]).toEqual([1, undefined]);
  });
});

describe("the prometheus receiver, through a proxy", () => {
  async function openProxy() {
    const proxy = await startProxy();
    onTestFinished(() => proxy.close());
    return proxy;
  }

  it("tells it whole URLs, and its credentials, which the target does not get", async () => {
    const proxy = await openProxy();
    const target = await startTarget("a 1\n");
    const { up } = await scrape(target.address, { proxy_url: `http://me:secret@127.0.0.1:${proxy.port}` });
    const credentials = `Basic ${Buffer.from("me:secret").toString("base64")}`;
    expect(up).toBe(1);
    expect(proxy.seen[0]).toEqual(["GET", `http://${target.address}/metrics`, credentials]);
  });

  it("tunnels TLS through it, and holds the target behind it to its certificate", async () => {
    const proxy = await openProxy();
    const { port, requests } = await startSecureTarget();
    const proxied = { proxy_url: `http://127.0.0.1:${proxy.port}` };
    for (const host of ["127.0.0.1", "localhost"]) {
      expect(await scrape(`${host}:${port}`, { ...tls(), ...proxied, bearer_token: "t" })).toMatchObject({ up: 1 });
      expect(proxy.seen.at(-1)).toEqual(["CONNECT", `${host}:${port}`, undefined]);
    }
    expect(proxy.headers.some(({ authorization }) => authorization !== undefined)).toBe(false);
    expect(requests[0]!.headers.authorization).toBe("Bearer t");
    const before = requests.length;
    const wrong = await scrape(`127.0.0.1:${port}`, { ...tls({ ca_file: TLS_FILES.otherCa }), ...proxied });
    expect([wrong.up, requests.length]).toEqual([0, before]);
  });

  it("reports the target as down when the proxy fails, and bypasses the proxy for no_proxy", async () => {
    const proxy = await openProxy();
    proxy.status = 403;
    const { port } = await startSecureTarget();
    const proxied = { ...tls(), proxy_url: `http://127.0.0.1:${proxy.port}` };
    const { up, said } = await scrape(`127.0.0.1:${port}`, proxied);
    expect(up).toBe(0);
    expect(said).toMatch(/403/);
    const seen = proxy.seen.length;
    expect((await scrape(`127.0.0.1:${port}`, { ...proxied, no_proxy: "example.com,127.0.0.1" })).up).toBe(1);
    expect(proxy.seen.length).toBe(seen);
  });

  it("takes the proxy of the environment only when told", async () => {
    const proxy = await openProxy();
    useProxyEnvironment({ HTTP_PROXY: `http://127.0.0.1:${proxy.port}` });
    onTestFinished(() => useProxyEnvironment({}));
    await scrape("shop.invalid:80", {});
    expect(proxy.seen).toEqual([]);
    await scrape("shop.invalid:80", { proxy_from_environment: true });
    expect(proxy.seen[0]?.slice(0, 2)).toEqual(["GET", "http://shop.invalid/metrics"]);
  });
});
