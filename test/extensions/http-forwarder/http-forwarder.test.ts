import { createServer, type IncomingHttpHeaders, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { httpForwarder } from "../../../src/extensions/http-forwarder/component.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly size: number;
}

/** A server that tells what it got, with as many bytes as asked for. */
async function startServer(): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((incoming, response) => {
    let size = 0;
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
    });
    incoming.on("end", () => {
      seen.push({ method: incoming.method!, url: incoming.url!, headers: incoming.headers, size });
      if (incoming.url === "/silent") return;
      response.writeHead(incoming.url === "/missing" ? 404 : 201, { "x-answer": "yes", "set-cookie": ["a=1", "b=2"] });
      response.end(incoming.url === "/large" ? Buffer.alloc(3_000_000) : "hello");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

async function startForwarder(egress: object, ingress: object = {}): Promise<number> {
  const extension = httpForwarder.create(
    httpForwarder.schema.parse({ ingress: { endpoint: "127.0.0.1:0", ...ingress }, egress }),
    {
      id: "http_forwarder",
      kind: "extension",
      logger: silentLogger,
      metrics: noMetrics,
      clock: systemClock,
      random: Math.random,
      host: { state: "ready" },
    },
  );
  await extension.start();
  onTestFinished(() => extension.stop());
  return (extension as unknown as { port: number }).port;
}

describe("http_forwarder", () => {
  it("passes method, path, query, headers and body on, and the answer back", async () => {
    const { url, seen } = await startServer();
    const port = await startForwarder({ endpoint: `${url}/ignored`, headers: { "x-token": "t" } });
    const answer = await fetch(`http://127.0.0.1:${port}/a/b?c=1`, {
      method: "PUT",
      body: "x".repeat(2_000_000),
      headers: { "x-client": "shop", via: "1.0 first" },
    });
    expect([answer.status, await answer.text(), answer.headers.get("x-answer")]).toEqual([201, "hello", "yes"]);
    expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(answer.headers.get("via")).toBe(`HTTP/1.1 127.0.0.1:${port}`);
    expect(seen).toMatchObject([{ method: "PUT", url: "/a/b?c=1", size: 2_000_000 }]);
    expect(seen[0]!.headers).toMatchObject({
      host: new URL(url).host,
      "x-token": "t",
      "x-client": "shop",
      via: `1.0 first, HTTP/1.1 127.0.0.1:${port}`,
    });
  });

  it("passes statuses and long answers on as they are", async () => {
    const { url } = await startServer();
    const port = await startForwarder({ endpoint: url });
    expect((await fetch(`http://127.0.0.1:${port}/missing`)).status).toBe(404);
    expect((await (await fetch(`http://127.0.0.1:${port}/large`)).arrayBuffer()).byteLength).toBe(3_000_000);
  });

  it("answers 502 when the server cannot be reached, or is silent for too long", async () => {
    const unreachable = await startForwarder({ endpoint: "http://127.0.0.1:9" });
    expect((await fetch(`http://127.0.0.1:${unreachable}/`)).status).toBe(502);
    const { url } = await startServer();
    const slow = await startForwarder({ endpoint: url, timeout: "50ms" });
    expect((await fetch(`http://127.0.0.1:${slow}/silent`)).status).toBe(502);
  });

  it("sends requests to its own server only, whatever URL or header a client writes", async () => {
    const { url, seen } = await startServer();
    const port = await startForwarder({ endpoint: url });
    for (const path of ["http://evil.example/x", "//evil.example/x"]) {
      const status = await new Promise((resolve) => {
        request(
          {
            port,
            host: "127.0.0.1",
            path,
            headers: { host: "evil.example", connection: "x-secret, close", "x-secret": "1" },
          },
          (answer) => {
            answer.resume();
            resolve(answer.statusCode);
          },
        ).end();
      });
      expect(status).toBe(201);
    }
    expect(seen.map((each) => each.url)).toEqual(["/x", "/evil.example/x"]);
    expect(seen[0]!.headers["x-secret"]).toBeUndefined();
    expect(seen[0]!.headers.host).toBe(new URL(url).host);
  });

  it("gives its connection to the server up when the client is gone", async () => {
    const { url, seen } = await startServer();
    const port = await startForwarder({ endpoint: url, timeout: "1h" });
    const socket = connect(port, "127.0.0.1");
    socket.write("GET /silent HTTP/1.1\r\nhost: x\r\n\r\n");
    await expect.poll(() => seen.length).toBe(1);
    socket.destroy();
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(201);
  });

  it("needs to know where requests go, and refuses keys it does not have", () => {
    const parse = (config: object) => () => httpForwarder.schema.parse(config);
    expect(parse({ egress: {} })).toThrow("endpoint");
    expect(parse({ egress: { endpoint: "http://x" }, ingres: {} })).toThrow("ingres");
  });
});
