/** The built agent as the figures measure it, a backend on loopback, and a client. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const program = join(import.meta.dirname, "../../../bin/sluice.js");

/**
 * Starts `sluice run` with one pipeline from OTLP over HTTP to one `otlp_http` exporter, with queues on disk and an fsync
 * for each acknowledgement, as by default. `keys` are those of the exporter.
 */
export async function startAgent(url, keys, directory = mkdtempSync(join(tmpdir(), "sluice-figures-"))) {
  const file = join(directory, "sluice.json");
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:0" } } } },
    exporters: { otlp_http: { endpoint: url, compression: "none", encoding: "json", ...keys } },
    extensions: { reliability: { directory: join(directory, "queue") }, admin: { endpoint: "127.0.0.1:0" } },
    service: {
      extensions: ["reliability", "admin"],
      telemetry: { metrics: { level: "none" } },
      pipelines: { logs: { receivers: ["otlp"], exporters: ["otlp_http"] } },
    },
  };
  writeFileSync(file, JSON.stringify(config));
  const child = spawn(process.execPath, [program, "run", "--config", file], { stdio: ["ignore", "ignore", "pipe"] });
  const listeners = new Set();
  const ready = Promise.withResolvers?.() ?? withResolvers();
  let rest = "";
  let port = 0;
  let admin = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines.filter((each) => each.startsWith("{"))) {
      const entry = JSON.parse(line);
      port ||= Number(/:(\d+)$/.exec(entry.http ?? "")?.[1] ?? 0);
      if (entry.msg.includes("admin API is listening")) admin = `http://${entry.endpoint}`;
      if (entry.msg === "ready") ready.resolve();
      for (const listener of listeners) listener(entry);
    }
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  exited.then(() => ready.reject(new Error("the agent has ended")));
  await ready.promise;
  return {
    directory,
    port,
    admin,
    onLog: (listener) => listeners.add(listener),
    kill: () => end(child, exited, "SIGKILL"),
    async stop() {
      await end(child, exited, "SIGTERM");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function end(child, exited, signal) {
  child.kill(signal);
  await exited;
}

function withResolvers() {
  const own = {};
  own.promise = new Promise((resolve, reject) => Object.assign(own, { resolve, reject }));
  return own;
}

/**
 * A backend that asks `answer(bodies)` for the status of each request; undefined breaks the connection. A backend that is
 * down has no port open.
 */
export async function startBackend(answer, port = 0) {
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("error", () => {});
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const status = answer(bodiesOf(Buffer.concat(chunks)));
      if (status === undefined) return request.socket.destroy();
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    port: server.address().port,
    url: `http://127.0.0.1:${server.address().port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}

function bodiesOf(bytes) {
  const { resourceLogs = [] } = JSON.parse(bytes.toString() || "{}");
  return resourceLogs.flatMap(({ scopeLogs = [] }) =>
    scopeLogs.flatMap(({ logRecords = [] }) => logRecords.map(({ body }) => body.stringValue)),
  );
}

/** Sends records with these bodies in one request; false if they were not acknowledged. */
export async function send(port, bodies) {
  const logRecords = bodies.map((body) => ({ timeUnixNano: "1", body: { stringValue: body } }));
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
  const response = await fetch(`http://127.0.0.1:${port}/v1/logs`, { method: "POST", headers, body }).catch(() => {});
  await response?.arrayBuffer().catch(() => {});
  return response?.status === 200;
}

/** Resolves when the check holds; it is asked every few milliseconds. */
export async function until(check) {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 5));
}
