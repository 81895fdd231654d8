import { once } from "node:events";
import { createServer as createHttp, type Server as HttpServer } from "node:http";
import { createServer as createHttps } from "node:https";
import { createServer, type Server, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { httpCheckReceiver } from "../../../src/receivers/http-check/component.js";
import { TestIntake } from "../../../src/testing.js";
import { listeningLogger } from "../../exporters/support.js";
import { read, TLS_FILES } from "../../runtime/net/tls/files.js";
import { agentOf } from "../../support/agent.js";
import { collectingExporter } from "../../support/collecting-exporter.js";
import { until } from "../../support/until.js";
import { type Answer, pointsOf, startTarget } from "../prometheus/harness.js";
import { startReceiver } from "../started-receiver.js";

const ALL = Object.fromEntries(
  [
    "dns.lookup.duration",
    "client.connection.duration",
    "tls.handshake.duration",
    "client.request.duration",
    "response.duration",
    "response.size",
    "tls.cert_remaining",
    "validation.passed",
    "validation.failed",
  ].map((name) => [`httpcheck.${name}`, { enabled: true }]),
);

async function start(targets: readonly object[], more: object = {}) {
  const intake = new TestIntake();
  const logger = listeningLogger();
  const config = { collection_interval: "20ms", initial_delay: 0, targets, ...more };
  const receiver = await startReceiver(httpCheckReceiver, config, intake, logger, "metrics");
  onTestFinished(() => receiver.stop());
  return { intake, logger, receiver };
}

/** The first collection: `name{attributes but the URL}` and value, without durations, which differ. */
async function firstPoints(targets: readonly object[], more: object = {}) {
  const { intake, logger } = await start(targets, { collection_interval: "1h", ...more });
  await until(() => expect(intake.batches.length).toBeGreaterThan(0));
  const all = pointsOf(intake.batches[0]!);
  const values = Object.fromEntries(
    all
      .filter(({ name }) => !name.endsWith("duration"))
      .map(({ name, labels, data }) => {
        const { "http.url": _, ...own } = labels;
        return [`${name.replace("httpcheck.", "")}{${Object.values(own).join(",")}}`, Number(data["asInt"])];
      }),
  );
  return { all, values, logger };
}

const ofStatus = (status: number, method = "GET") =>
  Object.fromEntries(
    [1, 2, 3, 4, 5].map((each) =>
      Math.trunc(status / 100) === each
        ? [`status{${status},${method},${each}xx}`, 1]
        : [`status{${method},${each}xx}`, 0],
    ),
  );

const serve = async (answer: string | Answer) => {
  const target = await startTarget(answer);
  return { ...target, url: `http://${target.address}/health` };
};

async function listening(server: Server | HttpServer): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
}

/** A server of bytes; ends with the test. */
async function serveBytes(onSocket: (socket: Socket) => void) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => {}));
    onSocket(socket);
  });
  const port = await listening(server);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { url: `http://127.0.0.1:${port}/`, sockets };
}

async function serveTls(cert: string) {
  const server = createHttps({ key: read(TLS_FILES.serverKey), cert: read(cert) }, (_, response) => response.end("ok"));
  const port = await listening(server);
  onTestFinished(() => server.closeAllConnections());
  return `https://localhost:${port}/`;
}

describe("the http_check receiver", () => {
  it("tells the class of the status and how long it took, with the Collector's names", async () => {
    const { url } = await serve("fine");
    const { all, values } = await firstPoints([{ endpoint: url }]);
    expect(values).toEqual(ofStatus(200));
    const one = all.find(({ data }) => data["asInt"] === "1");
    expect(one?.data["attributes"]).toContainEqual({ key: "http.status_code", value: { intValue: "200" } });
    expect(one?.metric["sum"]).toMatchObject({ aggregationTemporality: 2 });
    expect(all.map(({ labels }) => labels["http.url"])).toEqual(all.map(() => url));
    expect(new Set(all.map(({ name }) => name))).toEqual(new Set(["httpcheck.status", "httpcheck.duration"]));
  });

  it.each([204, 304, 404, 503])("takes %i for an answer, not for an error", async (status) => {
    const { url } = await serve((_, response) => void response.writeHead(status).end());
    expect((await firstPoints([{ endpoint: url }])).values).toEqual(ofStatus(status));
  });

  it("asks every endpoint with the method, headers and body of its target", async () => {
    const asked: string[] = [];
    const { url } = await serve((request, response) => {
      const { "content-type": type, "x-key": key, authorization } = request.headers;
      request
        .setEncoding("utf8")
        .on("data", (text) => asked.push(`${request.method} ${type} ${key} ${authorization} ${text}`));
      request.on("end", () => response.end());
    });
    const withUser = url.replace("http://", "http://ann:pw@");
    const target = { endpoint: withUser, endpoints: [withUser, `${url}/2`], method: "put", auto_content_type: true };
    const { all } = await firstPoints([
      { ...target, headers: { "X-Key": "k", "Content-Length": "1" }, body: '{"a":1}' },
    ]);
    const basic = `Basic ${Buffer.from("ann:pw").toString("base64")}`;
    expect(asked.slice(0, 2).sort()).toEqual(
      [`PUT application/json k ${basic} {"a":1}`, 'PUT application/json k undefined {"a":1}'].sort(),
    );
    const urls = new Set(all.map(({ labels }) => labels["http.url"]));
    expect(urls).toEqual(new Set([url, `${url}/2`]));
  });

  it("sends a body also with GET, and reads no body after HEAD", async () => {
    const bodies: string[] = [];
    const { url } = await serve((request, response) => {
      request.setEncoding("utf8").on("data", (text) => bodies.push(text));
      request.on("end", () => response.end("long"));
    });
    await firstPoints([{ endpoint: url, body: "x=1" }]);
    expect(bodies[0]).toBe("x=1");
    const { values } = await firstPoints([{ endpoint: url, method: "HEAD" }], { metrics: ALL });
    expect(values).toEqual({ ...ofStatus(200, "HEAD"), "response.size{}": 0 });
  });

  it("says why no answer came: refused, reset, none of HTTP, hung up, silent", async () => {
    const closed = createServer();
    const port = await listening(closed);
    closed.close();
    const reset = await serveBytes((socket) => socket.once("data", () => socket.resetAndDestroy()));
    const other = await serveBytes((socket) => void socket.end("SSH-2.0-OpenSSH_9\r\n"));
    const hungUp = await serveBytes((socket) => socket.once("data", () => socket.end()));
    const silent = await serveBytes((socket) => void socket.resume());
    const endpoints = [`http://127.0.0.1:${port}/`, reset.url, other.url, hungUp.url, silent.url];
    const { all } = await firstPoints([{ endpoints, timeout: "200ms" }]);
    const errors = all.filter(({ name }) => name === "httpcheck.error").map(({ labels }) => labels);
    const reasons = endpoints.map((url) => errors.find((labels) => labels["http.url"] === url)?.["error.message"]);
    expect(reasons[0]).toContain("ECONNREFUSED");
    expect(reasons[1]).toContain("ECONNRESET");
    expect(reasons[2]).toMatch(/Parse Error/);
    expect(reasons[3]).toMatch(/hang up/);
    expect(reasons[4]).toBe("no answer within 200 ms");
    const statuses = all.filter(({ name }) => name === "httpcheck.status");
    expect(statuses.length).toBe(25);
    expect(statuses.every(({ data }) => Number(data["asInt"]) === 0)).toBe(true);
  });

  it("ends a collection in time, even if targets are slow", async () => {
    const silent = await serveBytes((socket) => void socket.resume());
    const { values } = await firstPoints([{ endpoint: silent.url, timeout: "1h" }], { timeout: "100ms" });
    expect(values).toEqual({ ...ofStatus(0), "error{no answer within the time of a collection}": 1 });
  });

  it("counts the status of an answer whose body never ends or breaks off, and fails its validations", async () => {
    const endless = await serve((_, response) => {
      const timer = setInterval(() => response.write("more"), 5);
      response.on("close", () => clearInterval(timer));
    });
    const broken = await serveBytes((socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nmore")),
    );
    // Its end would be that of the connection, which is ours when we give up.
    const unmeasured = await serveBytes((socket) =>
      socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\n\r\nmore")),
    );
    for (const url of [endless.url, broken.url, unmeasured.url]) {
      const target = { endpoint: url, timeout: "200ms", validations: [{ contains: "more" }] };
      const { values, logger } = await firstPoints([target], { metrics: ALL });
      expect(values).toEqual({ ...ofStatus(200), "validation.failed{contains}": 1 });
      expect(JSON.stringify(logger)).toContain("body: ");
    }
  });

  it("reads no more of a flood than 16 MiB", async () => {
    let written = 0;
    const flood = await serveBytes((socket) => {
      const piece = Buffer.alloc(1024 * 1024, "x");
      const pour = () => {
        while (!socket.destroyed && socket.write(piece)) written += piece.length;
        written += piece.length;
      };
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        socket.on("drain", pour);
        pour();
      });
    });
    const { values } = await firstPoints([{ endpoint: flood.url }], { metrics: ALL });
    expect(values).toEqual(ofStatus(200));
    await until(() => expect(flood.sockets.every(({ destroyed }) => destroyed)).toBe(true));
    expect(written).toBeLessThan(128 * 1024 * 1024);
  });

  it("follows redirects, and takes credentials to no other host", async () => {
    const seen: string[] = [];
    const other = await serve((request, response) => {
      seen.push(`${request.method} ${request.headers["x-key"]} ${request.headers["content-type"]}`);
      response.writeHead(418).end();
    });
    const first = await serve((request, response) => {
      const { url, method, headers } = request;
      if (url === "/health") return void response.writeHead(302, { Location: "/moved" }).end();
      seen.push(`${method} ${headers["x-key"]}`);
      response.writeHead(307, { Location: other.url }).end();
    });
    const target = {
      endpoint: first.url,
      method: "POST",
      body: "a=b",
      headers: { "X-Key": "secret", "Content-Type": "text/x" },
    };
    const { values } = await firstPoints([target]);
    expect(values).toEqual(ofStatus(418, "POST"));
    expect(seen.slice(0, 2)).toEqual(["GET secret", "GET undefined text/x"]);
  });

  it.each([
    ["/again", "there were more than 10 redirects"],
    ["file:///etc/passwd", "it was redirected to something other than an http URL"],
    ["http://[", "it was redirected to something other than an http URL"],
  ])("does not follow redirects to %s", async (location, reason) => {
    const { url } = await serve((_, response) => void response.writeHead(301, { Location: location }).end());
    expect((await firstPoints([{ endpoint: url }])).values).toEqual({ ...ofStatus(0), [`error{${reason}}`]: 1 });
  });

  it("reports TLS: how long the certificate is valid, who signed it, and the time of each step", async () => {
    const url = await serveTls(TLS_FILES.serverCert);
    const { all, values } = await firstPoints([{ endpoint: url, tls: { ca_file: TLS_FILES.ca } }], { metrics: ALL });
    expect(values).toMatchObject(ofStatus(200));
    const { data, labels } = all.find(({ name }) => name === "httpcheck.tls.cert_remaining")!;
    expect(Number(data["asInt"])).toBeGreaterThan(3600);
    const { "http.tls.issuer": issuer, "http.tls.san": names } = labels;
    expect(issuer).toMatch(/^CN=/);
    expect(names).toContain('{"stringValue":"localhost"}');
    const steps = all.filter(({ name }) => name.endsWith(".duration") && name !== "httpcheck.duration");
    expect(steps.length).toBe(5);
    for (const { name, data } of steps) expect([name, Number(data["asInt"]) > 0]).toEqual([name, true]);
    const whole = all.find(({ name }) => name === "httpcheck.duration")!;
    const sum = steps.reduce((total, { data }) => total + Number(data["asInt"]), 0);
    expect(sum / 1_000_000).toBeLessThan(Number(whole.data["asInt"]) + 1);
  });

  it("treats a wrong certificate as an error unless any certificate is allowed", async () => {
    const expired = await serveTls(TLS_FILES.serverExpiredCert);
    const good = await serveTls(TLS_FILES.serverCert);
    const ca = { ca_file: TLS_FILES.ca };
    const targets = [
      { endpoint: expired, tls: ca },
      { endpoint: good },
      { endpoint: good.replace("localhost", "127.0.0.1"), tls: { ...ca, server_name_override: "other.example" } },
      { endpoint: good.replace("https:", "http:") },
    ];
    const { all } = await firstPoints(targets);
    const errors = all.filter(({ name }) => name === "httpcheck.error");
    const reasons = errors.map(({ labels }) => labels["error.message"]).join("\n");
    expect(errors.length).toBe(4);
    expect(reasons).toMatch(/expired/);
    expect(reasons).toMatch(/unable to verify|self[- ]signed|issuer/);
    expect(reasons).toMatch(/altnames/);
    const any = await firstPoints([{ endpoint: expired, tls: { insecure_skip_verify: true } }], { metrics: ALL });
    expect(any.values).toMatchObject(ofStatus(200));
    const left = any.all.find(({ name }) => name === "httpcheck.tls.cert_remaining")!;
    expect(Number(left.data["asInt"])).toBeLessThan(0);
  });

  it("shows no secrets of URLs, in points or in the log, and sends them", async () => {
    const seen: string[] = [];
    const { address } = await startTarget((request, response) => {
      seen.push(`${request.url} ${request.headers.authorization}`);
      response.end("x".repeat(20));
    });
    const secrets = "api_key=hunter2&X-Amz-Signature=hunter2&AWSAccessKeyId=hunter2";
    const endpoint = `http://ann:hunter2@${address}/a?team=shop&${secrets}`;
    const dead = `http://ann:hunter2@127.0.0.1:1/b?token=hunter2`;
    const odd = ["http:///ann:hunter2@127.0.0.1:1/c", "http:ann:hunter2@127.0.0.1:1/d"];
    const endless = await serveBytes((socket) =>
      socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\n\r\nmore")),
    );
    const silent = `${endless.url}?auth=hunter2`;
    const targets = [
      { endpoints: [endpoint, dead, ...odd], validations: [{ contains: "y" }] },
      { endpoint: silent, timeout: "100ms" },
    ];
    const { all, logger } = await firstPoints(targets);
    expect(JSON.stringify([all, logger.lines])).not.toContain("hunter2");
    const masked = secrets.replaceAll("hunter2", "[REDACTED]");
    expect(new Set(all.map(({ labels }) => labels["http.url"]))).toEqual(
      new Set([
        `http://${address}/a?team=shop&${masked}`,
        "http://127.0.0.1:1/b?token=[REDACTED]",
        "http://127.0.0.1:1/c",
        "http://127.0.0.1:1/d",
        `${endless.url}?auth=[REDACTED]`,
      ]),
    );
    expect(logger.lines.length).toBeGreaterThan(0);
    const basic = Buffer.from("ann:hunter2").toString("base64");
    expect(seen).toEqual([`/a?team=shop&${secrets} Basic ${basic}`]);
  });

  it("warns of checks whose points cannot be told apart", async () => {
    const { url } = await serve("fine");
    const { logger } = await firstPoints([{ endpoints: [`${url}?key=1`, `${url}?key=2`, `${url}?n=1`, `${url}?n=2`] }]);
    expect(logger.lines.map(({ fields }) => fields)).toEqual([{ url: `${url}?key=[REDACTED]`, method: "GET" }]);
  });

  it("keeps a few large bodies at a time, and measures small ones meanwhile", async () => {
    const large = (isWhole: boolean) =>
      serveBytes((socket) => {
        const length = isWhole ? 400_000 : 500_000;
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n${"a".repeat(400_000)}`);
      });
    const stalled = await Promise.all(Array.from({ length: 8 }, () => large(false)));
    const whole = await large(true);
    const small = await serve("a");
    const validations = [{ contains: "a" }];
    const holding = stalled.map(({ url }) => ({ endpoint: url, timeout: "1h", validations }));
    const { receiver } = await start(holding, { collection_interval: "1h" });
    const turns = (receiver as unknown as { keptBodies: { free: number } }).keptBodies;
    await until(() => expect(turns.free).toBe(0));
    const others = [
      { endpoint: whole.url, validations },
      { endpoint: small.url, validations },
    ];
    const { values } = await firstPoints(others, { metrics: ALL });
    expect(values["validation.passed{contains}"]).toBe(1); // both, each under its URL
    await receiver.stop();
    expect(turns.free).toBe(8);
    const limited = [
      ...holding,
      { endpoint: whole.url, timeout: "10s", validations },
      { endpoint: small.url, validations },
    ];
    const { all } = await firstPoints(limited, { metrics: ALL, timeout: "1s" });
    const passed = all.filter(({ name }) => name === "httpcheck.validation.passed");
    expect(passed.map(({ labels }) => labels["http.url"])).toContain(small.url);
    const answered = all.filter(({ name, data }) => name === "httpcheck.status" && data["asInt"] === "1");
    expect(answered).toHaveLength(10); // their heads have come, whatever became of the bodies
  });

  it("validates bodies", async () => {
    const { url } = await serve(
      JSON.stringify({ status: "up", n: 3, ok: true, none: null, "a.b": [{ id: 7 }], s: "ok [x]" }),
    );
    const passing = [
      { contains: "up", not_contains: "down", regex: "\\[x\\]", min_size: 10, max_size: 1000 },
      { json_path: "status", equals: "up" },
      { json_path: "$.n", equals: 3 },
      { json_path: "ok", equals: true },
      { json_path: "none" },
      { json_path: "a\\.b.0.id", equals: "7" },
      { json_path: "a\\.b.#", equals: "1" },
      { json_path: "$.a\\.b[0].id", equals: "7" },
    ];
    const failing = [
      { contains: "down", not_contains: "up", regex: "^up", min_size: 1000, max_size: 10 },
      { json_path: "status", equals: "down" },
      { json_path: "missing.path" },
      { json_path: "constructor" },
      { json_path: "status.length" },
    ];
    const { values } = await firstPoints([{ endpoint: url, validations: [...passing, ...failing] }], { metrics: ALL });
    expect(values).toMatchObject({
      "validation.passed{contains}": 1,
      "validation.passed{not_contains}": 1,
      "validation.passed{regex}": 1,
      "validation.passed{size}": 2,
      "validation.passed{json_path}": 7,
      "validation.failed{contains}": 1,
      "validation.failed{not_contains}": 1,
      "validation.failed{regex}": 1,
      "validation.failed{size}": 2,
      "validation.failed{json_path}": 4,
    });
  });

  it("measures the others beside a body that is nested a hundred thousand times", async () => {
    const deep = await serve("[".repeat(100_000) + "]".repeat(100_000));
    const { url } = await serve("fine");
    const targets = [{ endpoint: deep.url, validations: [{ json_path: "$", equals: "x" }] }, { endpoint: url }];
    const { all, values } = await firstPoints(targets, { metrics: ALL });
    expect(values).toMatchObject({ "validation.failed{json_path}": 1 });
    expect(all.filter(({ data, name }) => name === "httpcheck.status" && data["asInt"] === "1").length).toBe(2);
  });

  it("reports an empty body and an invalid JSON body as failed checks", async () => {
    const { url } = await serve((request, response) => void response.end(request.url === "/health" ? "" : "<html>"));
    const targets = [url, `${url}2`].map((endpoint) => ({ endpoint, validations: [{ json_path: "status" }] }));
    const { all } = await firstPoints(targets, { metrics: ALL });
    expect(all.filter(({ name }) => name === "httpcheck.validation.failed").length).toBe(2);
    expect(all.filter(({ name }) => name === "httpcheck.validation.passed").length).toBe(0);
  });

  it("shows the credentials of an extension, and counts the status of a server that does not take them", async () => {
    const expected = `Basic ${Buffer.from("joe:secret").toString("base64")}`;
    const statuses: number[] = [];
    const { url } = await serve((request, response) => {
      const isKnown = request.headers.authorization === expected && request.url === "/health";
      statuses.push(isKnown ? 200 : 401);
      response.writeHead(isKnown ? 200 : 401).end();
    });
    const yaml = (authenticator: string) => `
receivers:
  httpcheck:
    collection_interval: 20ms
    initial_delay: 0s
    targets:
      - { endpoints: ["${url}", "${url}/other"], auth: { authenticator: ${authenticator} } }
exporters: { collect: {} }
extensions: { basicauth: { client_auth: { username: joe, password: secret } } }
service:
  extensions: [basicauth]
  telemetry: { metrics: { level: none } }
  pipelines: { metrics: { receivers: [httpcheck], exporters: [collect] } }`;
    const exporter = collectingExporter();
    const agent = agentOf(yaml("basicauth"), { components: [exporter.factory] });
    await agent.start();
    onTestFinished(() => agent.stop());
    await until(() => expect(exporter.batches.length).toBeGreaterThan(0));
    const found = pointsOf(exporter.batches[0]!).flatMap(({ labels }) => labels["http.status_code"] ?? []);
    expect(found.sort()).toEqual(["200", "401"]);
    expect(new Set(statuses)).toEqual(new Set([200, 401]));
    expect(() => agentOf(yaml("nobody"), { components: [exporter.factory] })).toThrow("nobody");
  });

  it("goes through a proxy", async () => {
    const paths: string[] = [];
    const proxy = createHttp((request, response) => {
      paths.push(request.url!);
      response.writeHead(203).end();
    });
    const port = await listening(proxy);
    const target = { endpoint: "http://shop.example/health?x=1", proxy_url: `http://127.0.0.1:${port}` };
    expect((await firstPoints([target])).values).toEqual(ofStatus(203));
    expect(paths[0]).toBe("http://shop.example/health?x=1");
  });

  it("stops at once while a server is silent, and says nothing of it", async () => {
    const silent = await serveBytes((socket) => void socket.resume());
    const { receiver, intake } = await start([{ endpoint: silent.url }]);
    await until(() => expect(silent.sockets.length).toBe(1));
    await receiver.stop();
    expect(intake.batches).toEqual([]);
    await until(() => expect(silent.sockets[0]!.destroyed || silent.sockets[0]!.readableEnded).toBe(true));
  });

  it("opens one connection for a check and leaves none open", async () => {
    const { url, requests } = await serve("fine");
    const { receiver } = await start([{ endpoint: url }]);
    await until(() => expect(requests.length).toBeGreaterThan(3));
    await receiver.stop();
    await until(() => expect(requests.every(({ socket }) => socket.destroyed)).toBe(true));
    expect(new Set(requests.map(({ socket }) => socket)).size).toBe(requests.length);
  });

  it.each([
    [{ targets: [] }, "targets"],
    [{}, "targets"],
    [{ targets: [{}] }, "endpoint"],
    [{ targets: [{ endpoint: "localhost:80" }] }, "endpoint"],
    [{ targets: [{ endpoints: ["http://a", "b"] }] }, "endpoints"],
    [{ targets: [{ endpoint: "http://a", method: "GET /" }] }, "method"],
    [{ targets: [{ endpoint: "http://a", method: "connect" }] }, "method"],
    [{ targets: [{ endpoint: "http://a", headers: { A: "b\r\nC: d" } }] }, "headers"],
    [{ targets: [{ endpoint: "http://a", validations: [{ regex: "(" }] }] }, "regex"],
    [{ targets: [{ endpoint: "http://a", validations: [{ json_path: 'a.#(b=="c").d' }] }] }, "json_path"],
    [{ targets: [{ endpoint: "http://a", validations: [{ equals: "x" }] }] }, "equals"],
    [{ targets: [{ endpoint: "http://a", no_such_key: 1 }] }, "no_such_key"],
  ])("refuses %o", (wrong, key) => {
    const { error } = httpCheckReceiver.schema.safeParse(wrong);
    expect(JSON.stringify(error?.issues)).toContain(key);
  });
});
