import http from "node:http";
import { page } from "./foreign-load.js";
import { bareGrpc, portOf } from "./kit.js";
import { PAGE_SAMPLES, podAddress } from "./load.js";

/**
 * Servers that components send to or poll. They run in the benchmark's own process, so they are not measured: POSTs are
 * accepted, bulk requests are answered document by document, and there are a Prometheus page, a kubelet, a Docker API
 * and the pods of a Kubernetes API.
 */
export async function startTargets() {
  const grpc = await Promise.all([bareGrpc(), bareGrpc(), bareGrpc()]);
  const server = http.createServer(answer);
  server.keepAliveTimeout = 0;
  const port = await portOf(server);
  return {
    http: port,
    grpc: grpc.map(({ port }) => port),
    stop: () => {
      for (const one of grpc) one.stop();
      server.close();
      server.closeAllConnections();
    },
  };
}

const PODS = 100;
const CONTAINERS = 20;
const pages = Array.from({ length: 4 }, (_, turn) => page(PAGE_SAMPLES, turn));
let scrapes = 0;

function answer(/** @type {http.IncomingMessage} */ request, /** @type {http.ServerResponse} */ response) {
  const { pathname: path, searchParams: query } = new URL(request.url ?? "/", "http://target");
  if (request.method === "POST" || request.method === "PUT") return take(request, response, path);
  if (path === "/metrics") return send(response, pages[scrapes++ % pages.length], "text/plain; version=0.0.4");
  if (path === "/stats/summary") return send(response, KUBELET);
  if (path.endsWith("/containers/json")) return send(response, CONTAINER_LIST);
  if (/\/containers\/[^/]+\/json$/.test(path)) return send(response, CONTAINER);
  if (/\/containers\/[^/]+\/stats$/.test(path)) return send(response, CONTAINER_STATS);
  if (path === "/apis") return send(response, API_GROUPS);
  if (path === "/api/v1") return send(response, API_RESOURCES);
  if (path === "/api/v1/events" && query.has("watch")) return void response.end(nextEvents());
  if (!path.startsWith("/api/v1/") && !path.startsWith("/apis/")) return send(response, "it is well", "text/plain");
  if (query.has("watch")) return void response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  return send(response, path.endsWith("/pods") ? POD_LIST : EMPTY_LIST);
}

function take(
  /** @type {http.IncomingMessage} */ request,
  /** @type {http.ServerResponse} */ response,
  /** @type {string} */ path,
) {
  const isBulk = path.endsWith("/_bulk");
  let lines = 0;
  request.on("data", (chunk) => {
    if (isBulk) for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
  });
  request.on("end", () => {
    if (isBulk) return send(response, bulkAnswer(lines / 2));
    const isJson = request.headers["content-type"]?.startsWith("application/json");
    return isJson ? send(response, "{}") : response.writeHead(200, { "content-length": 0 }).end();
  });
}

/** @type {Map<number, Buffer>} */
const bulkAnswers = new Map();

/** An action and its document are two lines. */
function bulkAnswer(/** @type {number} */ documents) {
  let answer = bulkAnswers.get(documents);
  if (answer === undefined) {
    const item = { create: { _index: "logs", _id: "AbC", _version: 1, result: "created", _seq_no: 1, status: 201 } };
    answer = json({ took: 3, errors: false, items: Array.from({ length: documents }, () => item) });
    bulkAnswers.set(documents, answer);
  }
  return answer;
}

function send(
  /** @type {http.ServerResponse} */ response,
  /** @type {Buffer | string} */ body,
  type = "application/json",
) {
  response.writeHead(200, { "content-type": type, "content-length": body.length }).end(body);
}

/** @param {unknown} value */
const json = (value) => Buffer.from(JSON.stringify(value));

const START = "2024-02-01T00:00:00Z";
const memory = {
  availableBytes: 1000,
  usageBytes: 600,
  workingSetBytes: 500,
  rssBytes: 400,
  pageFaults: 30,
  majorPageFaults: 3,
};
const cpu = { usageNanoCores: 250_000_000, usageCoreNanoSeconds: 2_500_000_000 };
const eth0 = { name: "eth0", rxBytes: 10, rxErrors: 1, txBytes: 20, txErrors: 2 };
const files = { availableBytes: 70, capacityBytes: 100, usedBytes: 30, inodesFree: 7, inodes: 10, inodesUsed: 3 };
const usage = { startTime: START, cpu, memory };
const KUBELET = json({
  node: { nodeName: "node-3", ...usage, network: { ...eth0, interfaces: [eth0] }, fs: files },
  pods: Array.from({ length: PODS }, (_, i) => ({
    podRef: { name: `checkout-${i}`, namespace: "shop", uid: `u-${i}` },
    ...usage,
    containers: [{ name: "app", ...usage, rootfs: files, logs: files }],
    network: { ...eth0, interfaces: [eth0] },
    volume: [{ ...files, name: "data" }],
    "ephemeral-storage": files,
  })),
});

const CONTAINER_LIST = json(Array.from({ length: CONTAINERS }, (_, i) => ({ Id: `c${i}`, Image: "checkout:1.2" })));
const CONTAINER = json({
  Name: "/checkout",
  Image: "sha256:1",
  State: { StartedAt: START },
  HostConfig: { NanoCpus: 1_500_000_000 },
  Config: { Hostname: "h", Image: "checkout:1.2", Cmd: ["node"], Env: ["STAGE=prod"], Labels: { team: "shop" } },
});
const CONTAINER_STATS = json({
  cpu_stats: {
    cpu_usage: { total_usage: 400, usage_in_kernelmode: 100, usage_in_usermode: 300 },
    system_cpu_usage: 2000,
    online_cpus: 4,
  },
  precpu_stats: { cpu_usage: { total_usage: 300 }, system_cpu_usage: 1000 },
  memory_stats: { usage: 1000, limit: 4000, stats: { inactive_file: 200, file: 250, pgfault: 9 } },
  blkio_stats: { io_service_bytes_recursive: [{ major: 8, minor: 0, op: "Read", value: 4096 }] },
  networks: { eth0: { rx_bytes: 10, tx_bytes: 20, rx_dropped: 1, tx_dropped: 2, rx_errors: 3 } },
  pids_stats: { current: 5, limit: 100 },
});

const EMPTY_LIST = json({ kind: "List", metadata: { resourceVersion: "1" }, items: [] });
const API_GROUPS = json({ groups: [] });
const API_RESOURCES = json({ resources: [{ name: "pods" }, { name: "events" }] });
const EVENTS_AT_ONCE = 200;
let events = 0;

/** The next events of a watch, about as many objects. */
function nextEvents() {
  const time = new Date(Date.now() + 60_000).toISOString();
  const lines = Array.from({ length: EVENTS_AT_ONCE }, (_, i) => {
    events++;
    const pod = `checkout-6c45f8d6f6-${i % PODS}`;
    const object = {
      metadata: {
        name: `${pod}.${events}`,
        namespace: "shop",
        uid: `e-${events}`,
        resourceVersion: String(events + 1),
      },
      involvedObject: { kind: "Pod", namespace: "shop", name: pod, uid: `u-${i % PODS}`, apiVersion: "v1" },
      source: { component: "kubelet", host: "node-3" },
      ...{ reason: "BackOff", type: "Warning", message: "Back-off restarting failed container app in pod", count: 7 },
      ...{ firstTimestamp: time, lastTimestamp: time, reportingComponent: "kubelet", reportingInstance: "node-3" },
    };
    return JSON.stringify({ type: "ADDED", object });
  });
  return `${lines.join("\n")}\n`;
}

const POD_LIST = json({
  kind: "PodList",
  metadata: { resourceVersion: "1" },
  items: Array.from({ length: PODS }, (_, i) => ({
    metadata: {
      name: `checkout-6c45f8d6f6-${i}`,
      namespace: "shop",
      uid: `u-${i}`,
      labels: { app: "checkout", "pod-template-hash": "6c45f8d6f6" },
      ownerReferences: [{ kind: "ReplicaSet", name: "checkout-6c45f8d6f6", uid: "rs-1" }],
    },
    spec: { nodeName: "node-3", containers: [{ name: "app", image: "checkout:1.2" }] },
    status: { podIP: podAddress(i), podIPs: [{ ip: podAddress(i) }], startTime: START },
  })),
});
