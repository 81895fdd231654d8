import { fork } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { protoRequest } from "../lib/load/records.js";
import { freePort } from "../lib/processes/ports.js";
import { entered, FILTER } from "./entered.js";

/** @typedef {import("./entered.js").Way} Way */
const RECORDS = 3;
const WARM_REQUESTS = 300;

/** A request that goes to the exporter at once. */
export function warmWay() {
  return wayOf({ sending_queue: { enabled: false } }, {});
}

/** A request that is filtered and stored, until its entry has left the queue. */
export function queueWay() {
  return wayOf({}, { filter: FILTER });
}

/** A reload that exchanges a processor. @returns {Promise<Way>} */
export async function reloadWay() {
  const ports = [String(await freePort()), String(await freePort())];
  const execArgv = ["--import", new URL("register.js", import.meta.url).href];
  const child = fork(new URL("reload-way.js", import.meta.url), ports, { execArgv });
  try {
    return await new Promise((resolve, reject) => {
      child.once("message", (way) => resolve(/** @type {Way} */ (way)));
      child.once("exit", (code) => reject(new Error(`the agent ended with ${code}`)));
    });
  } finally {
    child.kill("SIGKILL");
  }
}

/** @param {object} exporter @param {object} processors @returns {Promise<Way>} */
async function wayOf(exporter, processors) {
  const { createSluice } = await import("../../dist/index.js");
  const folder = await mkdtemp(join(tmpdir(), "sluice-way-"));
  const sink = createServer((incoming, answer) =>
    incoming.resume().on("end", () => answer.setHeader("content-type", "application/x-protobuf").end()),
  );
  await new Promise((resolve) => sink.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port: sinkPort } = /** @type {import("node:net").AddressInfo} */ (sink.address());
  const port = await freePort();
  const pipeline = { receivers: ["otlp"], processors: Object.keys(processors), exporters: ["otlp_http"] };
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    processors,
    exporters: { otlp_http: { endpoint: `http://127.0.0.1:${sinkPort}`, compression: "none", ...exporter } },
    service: { pipelines: { logs: pipeline } },
  };
  const sluice = await createSluice({ config, queueDirectory: folder });
  const client = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    await sluice.start();
    const body = protoRequest("logs", RECORDS);
    for (let i = 0; i < WARM_REQUESTS; i++) await post(port, body, client);
    return await entered(() => post(port, body, client));
  } finally {
    client.destroy();
    await sluice.stop();
    sink.closeAllConnections();
    sink.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {number} port @param {Uint8Array} body @param {Agent} agent */
function post(port, body, agent) {
  const headers = { "content-type": "application/x-protobuf", "content-length": body.length };
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: "127.0.0.1", path: "/v1/logs", method: "POST", headers, agent }, (answer) => {
      answer
        .resume()
        .on("end", () => (answer.statusCode === 200 ? resolve(undefined) : reject(new Error(`${answer.statusCode}`))));
    });
    sent.on("error", reject).end(body);
  });
}
