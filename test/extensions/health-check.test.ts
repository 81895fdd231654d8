import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { get as httpsGet } from "node:https";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../src/agent/testing/free-port.js";
import { healthCheck } from "../../src/extensions/health-check.js";
import type { Host } from "../../src/plugin.js";
import { systemClock } from "../../src/runtime/contract/clock.js";
import { isStartError } from "../../src/runtime/contract/errors/start-error.js";
import { noMetrics } from "../../src/runtime/contract/observability.js";
import type { Admin, ExporterStatus } from "../../src/runtime/contract/operations/admin.js";

function hasOpenssl(): boolean {
  return spawnSync("openssl", ["version"], { stdio: "ignore" }).status === 0;
}

interface Said {
  readonly level: string;
  readonly message: string;
}

async function occupiedPort(port = 0): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function start(written: object, host: { state: Host["state"]; admin?: Admin | undefined } = { state: "ready" }) {
  const said: Said[] = [];
  const note = (level: string) => (_: object, message: string) => void said.push({ level, message });
  const logger = {
    debug: note("debug"),
    info: note("info"),
    warn: note("warn"),
    error: note("error"),
    child: () => logger,
  };
  const context = {
    id: "health_check",
    kind: "extension",
    logger,
    metrics: noMetrics,
    clock: systemClock,
    random: Math.random,
    host,
  } as const;
  const extension = healthCheck.create(healthCheck.schema.parse(written), context);
  onTestFinished(() => extension.stop());
  await extension.start();
  return { extension, said };
}

describe("answers", () => {
  test("200 with the start time while the agent is ready, and 503 before and after", async () => {
    const port = await freePort();
    const host: { state: Host["state"] } = { state: "starting" };
    await start({ endpoint: `127.0.0.1:${port}` }, host);
    const ask = async () => {
      const response = await fetch(`http://127.0.0.1:${port}/?probe=1`);
      return { status: response.status, type: response.headers.get("content-type"), body: await response.json() };
    };
    expect(await ask()).toMatchObject({ status: 503, body: { status: "Server not available", state: "starting" } });
    host.state = "ready";
    expect(await ask()).toEqual({
      status: 200,
      type: "application/json",
      body: {
        status: "Server available",
        upSince: expect.stringMatching(/^\d{4}-.*Z$/),
        uptime: expect.stringMatching(/^[\d.]+s$/),
      },
    });
    host.state = "draining";
    expect((await ask()).status).toBe(503);
  });

  test("on every path, or only on the configured one, to any method", async () => {
    const [any, one] = [await freePort(), await freePort()];
    await start({ endpoint: `127.0.0.1:${any}` });
    await start({ endpoint: `127.0.0.1:${one}`, path: "/health" });
    const status = async (port: number, path: string, method: string) =>
      (await fetch(`http://127.0.0.1:${port}${path}`, { method })).status;
    for (const method of ["GET", "HEAD", "POST", "PUT", "DELETE"]) {
      expect(await status(any, "/", method)).toBe(200);
      expect(await status(any, "/live?x=1", method)).toBe(200);
      expect(await status(one, "/health", method)).toBe(200);
      expect(await status(one, "/", method)).toBe(404);
    }
  });

  test("with the configured bodies", async () => {
    const port = await freePort();
    const host: { state: Host["state"]; admin?: Admin | undefined } = { state: "ready" };
    await start({ port, response_body: { healthy: "fine", unhealthy: "ill" } }, host);
    const ask = async () => (await fetch(`http://127.0.0.1:${port}/`)).text();
    expect(await ask()).toBe("fine");
    host.state = "draining";
    expect(await ask()).toBe("ill");
  });

  test("to browsers of allowed origins", async () => {
    const port = await freePort();
    await start({ endpoint: `127.0.0.1:${port}`, cors: { allowed_origins: ["https://*.example.com"] } });
    const allowed = async (origin: string) => {
      const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { origin } });
      return response.headers.get("access-control-allow-origin");
    };
    expect(await allowed("https://a.example.com")).toBe("https://a.example.com");
    expect(await allowed("https://a.example.com.evil.org")).toBeNull();
    expect(await allowed("https://aXexampleXcom")).toBeNull();
    expect(await allowed("https://A.EXAMPLE.com")).toBe("https://A.EXAMPLE.com");
  });

  test("as fast to an origin that almost matches many wildcards", async () => {
    const port = await freePort();
    await start({ endpoint: `127.0.0.1:${port}`, cors: { allowed_origins: ["http://*a*a*a*a*a*a*b"] } });
    const headers = { origin: `http://${"a".repeat(12_000)}` };
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers });
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([200, null]);
  });

  test.skipIf(!hasOpenssl())("over TLS when it has a certificate", async () => {
    const directory = await mkdtemp(join(tmpdir(), "sluice-test-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const [cert_file, key_file] = [join(directory, "cert.pem"), join(directory, "key.pem")];
    const args = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost";
    execFileSync("openssl", [...args.split(" "), "-keyout", key_file, "-out", cert_file], { stdio: "ignore" });
    const port = await freePort();
    await start({ endpoint: `127.0.0.1:${port}`, tls: { cert_file, key_file } });
    const status = await new Promise((resolve, reject) => {
      httpsGet({ port, host: "127.0.0.1", rejectUnauthorized: false, agent: false }, (response) =>
        resolve(response.statusCode),
      ).once("error", reject);
    });
    expect(status).toBe(200);
    await writeFile(cert_file, "not a certificate");
    const bad = start({ endpoint: `127.0.0.1:${await freePort()}`, tls: { cert_file, key_file } });
    await expect(bad).rejects.toMatchObject({ code: "SLUICE_START", path: ["tls"] });
    const missing = start({ tls: { cert_file: join(directory, "none"), key_file } });
    await expect(missing).rejects.toMatchObject({ path: ["tls", "cert_file"] });
  });
});

describe("a port in use", () => {
  test("is an error with its place if it is configured", async () => {
    const port = await occupiedPort();
    const error = await start({ endpoint: `127.0.0.1:${port}` }).catch((thrown: unknown) => thrown);
    expect(isStartError(error) && error.path).toEqual(["endpoint"]);
    await expect(start({ port })).rejects.toMatchObject({ path: ["port"] });
  });

  test("is a warning if it is the default", async () => {
    await occupiedPort(13133).catch(() => undefined); // occupied by this test or by another process
    const { said } = await start({});
    expect(said).toMatchObject([{ level: "warn", message: expect.stringContaining("127.0.0.1:13133") }]);
  });
});

test("stops at once under clients that send nothing or only half a request", async () => {
  const port = await freePort();
  const { extension } = await start({ endpoint: `127.0.0.1:${port}` });
  const clients = ["", "GET / HT"].map((text) => {
    const client = connect(port, "127.0.0.1");
    client.on("error", () => {});
    if (text) client.write(text);
    return client;
  });
  await Promise.all(clients.map((client) => new Promise((resolve) => client.once("connect", resolve))));
  const closed = clients.map((client) => new Promise((resolve) => client.once("close", resolve)));
  await extension.stop();
  await Promise.all(closed);
});

test.each([
  [{ endpoint: "nonsense" }, "endpoint"],
  [{ endpoint: "127.0.0.1:99999" }, "endpoint"],
  [{ path: "health" }, "path"],
  [{ tls: { cert: "a" } }, "tls"],
])("finds %j wrong", (written, key) => {
  expect(healthCheck.schema.safeParse(written).error?.issues[0]?.path[0]).toBe(key);
});

test("accepts Collector configs", () => {
  const written = [
    { endpoint: "0.0.0.0:13133", path: "/", check_collector_pipeline: { enabled: true, interval: "5s" } },
    { endpoint: ":13133", response_body: null },
    { endpoint: "[::]:13133" },
  ];
  for (const config of written) expect(healthCheck.schema.safeParse(config).success).toBe(true);
});

describe("/healthz/exporters", () => {
  const status = (id: string, state: ExporterStatus["state"]): ExporterStatus => ({
    id,
    state,
    paused: false,
    breaker: { state: state === "DOWN" ? "open" : "closed", forced: false, since: 0 },
    queue: { enabled: true, entries: 2, items: 20, bytes: 200, inFlight: 1, oldestAt: 1 },
    deadLetters: { entries: 3, items: 3, bytes: 30, oldestAt: 1 },
    lastSentAt: 1_700_000_000_000,
    lastError: undefined,
    failureRate: 0.25,
    failureTrend: "rising",
    replayRate: 50,
  });

  async function ask(states: ExporterStatus["state"][] | undefined, path: string, config: object = {}) {
    const port = await freePort();
    const admin = states && ({ exporters: () => states.map((state, i) => status(`e${i}`, state)) } as unknown as Admin);
    await start({ endpoint: `127.0.0.1:${port}`, ...config }, { state: "ready", admin });
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  test.each([
    [["UP", "UP"], 200, "UP"],
    [["UP", "DEGRADED"], 200, "DEGRADED"],
    [["DEGRADED", "DOWN", "UP"], 503, "DOWN"],
    [[], 200, "UP"],
  ] as const)("answers for exporters that are %j: %i %s", async (states, code, worst) => {
    const { status, body } = await ask([...states], "/healthz/exporters");
    expect([status, body["status"], Object.keys(body["exporters"] as object)]).toEqual([
      code,
      worst,
      states.map((_, i) => `e${i}`),
    ]);
  });

  test.each([
    [["UP", "DEGRADED"], 503],
    [["UP"], 200],
  ] as const)("answers %j with %i if DEGRADED is configured as 503", async (states, code) => {
    expect((await ask([...states], "/healthz/exporters", { degraded_status: 503 })).status).toBe(code);
  });

  test("shows breaker, queue, dead letters, last send and failure rate of each", async () => {
    const { body } = await ask(["DOWN"], "/healthz/exporters");
    expect(body["exporters"]).toEqual({
      e0: {
        status: "DOWN",
        breaker: "open",
        paused: false,
        queue: { entries: 2, items: 20, bytes: 200, writeError: null },
        deadLetters: 3,
        lastSentAt: "2023-11-14T22:13:20.000Z",
        lastError: null,
        failureRate: 0.25,
        failureTrend: "rising",
      },
    });
  });

  test("is UP when there are no queues", async () => {
    expect(await ask(undefined, "/healthz/exporters")).toEqual({ status: 200, body: { status: "UP", exporters: {} } });
  });

  test("does not make the agent itself unhealthy, which only mentions it", async () => {
    const { status, body } = await ask(["DOWN"], "/");
    expect([status, body["exporters"]]).toEqual([200, "DOWN"]);
  });
});
