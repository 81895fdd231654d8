import { EventEmitter, once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Batch, batchToJson } from "../../../dist/plugin.js";
import { useEnvironment } from "../../../dist/runtime/system/environment.js";
import { collecting, component, openIntake } from "../kit.js";
import { logs, PAGE_SAMPLES, SCRAPE_SECONDS } from "../load.js";
import { startMysqlAnswers } from "../mysql-server.js";
import { missingPostgres, startPostgres } from "../postgres-server.js";

/**
 * Receivers that poll other systems at intervals; here as often as possible.
 * @type {Record<string, import("../cells.js").Cell>}
 */
export const COLLECTING_CELLS = {
  "prometheus receiver, a page of text": {
    of: "receiver/prometheus",
    unit: "sample",
    start: startScraping,
  },
  "host_metrics, all but processes one by one": {
    of: "receiver/host_metrics",
    unit: "sample",
    base: "reading the same files of /proc",
    start: () => startHost(["cpu", "disk", "filesystem", "load", "memory", "network", "paging", "processes", "system"]),
  },
  "host_metrics, processes one by one": {
    of: "receiver/host_metrics",
    unit: "sample",
    base: "reading two files of every process",
    start: () => startHost(["process"]),
  },
  "http_check, ten servers": {
    of: "receiver/http_check",
    unit: "check",
    base: "a request of node:http over a connection of its own",
    start: ({ target }) => {
      const urls = Array.from({ length: 10 }, (_, i) => `http://127.0.0.1:${target}/health/${i}`);
      const bare = async () => {
        await Promise.all(urls.map((url) => read(url, new http.Agent())));
        return urls.length;
      };
      return collecting("receiver/http_check", { targets: [{ endpoints: urls }] }, bare, () => urls.length);
    },
  },
  "kubelet_stats, a hundred pods": {
    of: "receiver/kubelet_stats",
    unit: "sample",
    base: "a request of node:http and JSON.parse",
    start: async ({ target }) => {
      const endpoint = `http://127.0.0.1:${target}`;
      return asking("receiver/kubelet_stats", { endpoint, auth_type: "none" }, async () => {
        JSON.parse(await read(`${endpoint}/stats/summary`, KEPT));
      });
    },
  },
  "journald, a journal that never ends": {
    of: "receiver/journald",
    unit: "entry",
    base: "JSON.parse of the same lines",
    start: startJournal,
  },
  "k8s_cluster, a hundred pods": {
    of: "receiver/k8s_cluster",
    unit: "sample",
    base: "JSON.stringify of the same number of points",
    start: async ({ target }) => {
      const keys = { api_server: `http://127.0.0.1:${target}`, auth_type: "none" };
      return asking("receiver/k8s_cluster", keys, async () => void JSON.stringify(SAMPLES));
    },
  },
  "receiver_creator, batches of a receiver that it started": {
    of: "receiver/receiver_creator",
    unit: "record",
    base: "a copy of the same bytes",
    start: startCreated,
  },
  "k8s_objects, a hundred pods": {
    of: "receiver/k8s_objects",
    unit: "object",
    base: "a request of node:http and JSON.parse",
    start: async ({ target }) => {
      const server = `http://127.0.0.1:${target}`;
      const bare = async () => JSON.parse(await read(`${server}/api/v1/pods`, KEPT)).items.length;
      const keys = { api_server: server, auth_type: "none", objects: [{ name: "pods", interval: "1ms" }] };
      return collecting("receiver/k8s_objects", keys, bare, undefined, {});
    },
  },
  "k8s_events, of a hundred pods": {
    of: "receiver/k8s_events",
    unit: "event",
    base: "a request of node:http and JSON.parse of the lines",
    start: async ({ target }) => {
      const server = `http://127.0.0.1:${target}`;
      const bare = async () => {
        const lines = (await read(`${server}/api/v1/events?watch=1`, KEPT)).trimEnd().split("\n");
        return lines.map((line) => JSON.parse(line)).length;
      };
      const keys = { api_server: server, auth_type: "none" };
      return collecting("receiver/k8s_events", keys, bare, undefined, {});
    },
  },
  "docker_stats, twenty containers": {
    of: "receiver/docker_stats",
    unit: "sample",
    base: "the same requests of node:http and JSON.parse",
    start: async ({ target }) => {
      const url = `http://127.0.0.1:${target}/v1.44/containers`;
      return asking("receiver/docker_stats", { endpoint: `tcp://127.0.0.1:${target}` }, async () => {
        const ids = JSON.parse(await read(`${url}/json`, KEPT)).map((/** @type {{ Id: string }} */ { Id }) => Id);
        const parsed = async (/** @type {string} */ path) => JSON.parse(await read(`${url}/${path}`, KEPT));
        for (const id of ids) await Promise.all([parsed(`${id}/json`), parsed(`${id}/stats?stream=false`)]);
      });
    },
  },
  "otlp_json_file, a hundred records a line": {
    of: "receiver/otlp_json_file",
    unit: "record",
    base: "JSON.parse of the same lines",
    goal: 5,
    start: startJsonFile,
  },
  "redis, all metrics of two hundred commands": {
    of: "receiver/redis",
    unit: "sample",
    base: "the same reply over a connection of node:net",
    goal: 5,
    start: async () => {
      const server = await startRedisReplies(200);
      const keys = { endpoint: `127.0.0.1:${server.port}`, metrics: { "redis.cmd.calls": on, "redis.cmd.usec": on } };
      const running = await asking("receiver/redis", keys, server.ask);
      const stop = async () => {
        await running.stop();
        server.stop();
      };
      return { ...running, stop };
    },
  },
  "mysql, a server with a hundred tables": {
    of: "receiver/mysql",
    unit: "sample",
    base: "the same answers over a connection of node:net",
    goal: 5,
    start: async () => {
      const server = await startMysqlAnswers(MYSQL_ANSWERS);
      const keys = { endpoint: `127.0.0.1:${server.port}`, metrics: { "mysql.commands": on, "mysql.joins": on } };
      const running = await asking("receiver/mysql", keys, server.ask);
      const stop = async () => {
        await running.stop();
        server.stop();
      };
      return { ...running, stop };
    },
  },
  "sql_query, log records of five thousand rows": {
    of: "receiver/sql_query",
    unit: "record",
    base: "the same rows over a connection of node:net",
    goal: 5,
    start: async () => {
      const columns = ["id", "message", "level"];
      const rows = Array.from({ length: 5000 }, (_, i) => [i, `order ${i} was paid by card and will be sent`, "info"]);
      const server = await startMysqlAnswers({ "FROM audit": { columns, rows } });
      const query = {
        sql: "SELECT * FROM audit",
        logs: [{ body_column: "message", attribute_columns: ["id", "level"] }],
      };
      const datasource = `bench@tcp(127.0.0.1:${server.port})/shop`;
      const running = await collecting(
        "receiver/sql_query",
        { driver: "mysql", datasource, queries: [query] },
        async () => {
          await server.ask();
          return rows.length;
        },
      );
      const stop = async () => {
        await running.stop();
        server.stop();
      };
      return { ...running, stop };
    },
  },
  "nginx, a page": {
    of: "receiver/nginx",
    unit: "collection",
    base: "a request of node:http over a connection of its own",
    start: async () => {
      const server = http.createServer((_, response) => response.end(NGINX_PAGE)).listen(0, "127.0.0.1");
      await once(server, "listening");
      const address = /** @type {import("node:net").AddressInfo} */ (server.address());
      const endpoint = `http://127.0.0.1:${address.port}/status`;
      const bare = async () => {
        await read(endpoint, new http.Agent());
        return 1;
      };
      const running = await collecting("receiver/nginx", { endpoint }, bare, () => 1);
      const stop = async () => {
        await running.stop();
        server.close();
      };
      return { ...running, stop };
    },
  },
  "awsecscontainermetrics, a task of ten containers": {
    of: "receiver/awsecscontainermetrics",
    unit: "sample",
    base: "the same requests of node:http and JSON.parse",
    start: startEcsTask,
  },
  "postgresql, a database with fifty tables": {
    of: "receiver/postgresql",
    unit: "sample",
    base: "connecting and one statement for the same tables",
    missing: missingPostgres,
    start: async () => {
      const server = await startPostgres(50);
      const { endpoint, username, query } = server;
      const keys = { endpoint, username, databases: ["postgres"], tls: { insecure: true } };
      const running = await asking("receiver/postgresql", keys, () =>
        query("SELECT * FROM pg_stat_user_tables t JOIN pg_statio_user_tables io USING (relid)"),
      );
      const stop = async () => {
        await running.stop();
        await server.stop();
      };
      return { ...running, stop };
    },
  },
};

/** A turn is a new file with a hundred lines, which the receiver deletes. */
async function startJsonFile() {
  const folder = await mkdtemp(join(tmpdir(), "sluice-bench-"));
  const line = batchToJson(Batch.admit("logs", logs(100)));
  const lines = `${line}\n`.repeat(100);
  const moments = new EventEmitter();
  let count = 0;
  const intake = openIntake((batch) => {
    count += batch.count;
    moments.emit("batch");
  });
  const keys = {
    include: [join(folder, "*.json")],
    offsets_directory: join(folder, "offsets"),
    ...{ start_at: "beginning", poll_interval: "1ms", delete_after_read: true },
  };
  const receiver = await component("receiver/otlp_json_file", keys, { intakes: { logs: intake } });
  await receiver.start();
  let files = 0;
  const turn = async () => {
    const wanted = count + 10_000;
    files++;
    // The beginning tells files apart.
    await writeFile(join(folder, `${files}.json`), `{"resourceLogs":[],"number":${files}}\n${lines}`);
    while (count < wanted) await once(moments, "batch");
    return 10_000;
  };
  const bare = async () => {
    for (const each of lines.trimEnd().split("\n")) JSON.parse(each);
    return 10_000;
  };
  const stop = async () => {
    await receiver.stop();
    await rm(folder, { recursive: true });
  };
  return { turn, count: () => count, bare: { turn: bare }, stop };
}

/** A journalctl that writes the same thousand entries again and again. */
async function startJournal() {
  const folder = await mkdtemp(join(tmpdir(), "sluice-bench-"));
  const lines = Array.from({ length: 1000 }, (_, i) =>
    JSON.stringify({
      __CURSOR: `s=739ad463348b4ceca5a9e69c95a3c93f;i=${i};b=4d9c3e51c4b94a46a9b6b9e7ac6ad6b9;m=3e8;t=66082846e6dec`,
      ...{ __REALTIME_TIMESTAMP: "1794961876294617", __MONOTONIC_TIMESTAMP: "1000", PRIORITY: "6", _UID: "1000" },
      ...{ _SYSTEMD_UNIT: "shop.service", SYSLOG_IDENTIFIER: "shop", _HOSTNAME: "node-3", _PID: "4711" },
      ...{ _BOOT_ID: "4d9c3e51c4b94a46a9b6b9e7ac6ad6b9", MESSAGE: `order ${i} was paid with a card in 12 ms` },
    }),
  );
  const text = `${lines.join("\n")}\n`;
  const program = join(folder, "journalctl");
  await writeFile(join(folder, "lines"), text);
  const script = `#!/bin/sh\ncase "$*" in *--follow*) while cat ${folder}/lines; do :; done;; esac\n`;
  await writeFile(program, script, { mode: 0o755 });
  const bare = async () => lines.map((line) => JSON.parse(line)).length;
  const keys = { journalctl_path: program, start_at: "beginning", offsets_directory: join(folder, "offsets") };
  const running = await collecting("receiver/journald", keys, bare, undefined, {});
  const stop = async () => {
    await running.stop();
    await rm(folder, { recursive: true });
  };
  return { ...running, stop };
}

/** A task metadata endpoint of ten containers. */
async function startEcsTask() {
  const ids = Array.from({ length: 10 }, (_, i) => `c-${i}`);
  const cpu = { cpu_usage: { total_usage: 1.5e9, usage_in_kernelmode: 3e8, percpu_usage: [1, 2] }, online_cpus: 2 };
  const stats = ids.map((id) => [
    id,
    {
      ...{ id, read: "2026-01-02T03:04:11.5Z", preread: "2026-01-02T03:04:10.5Z", cpu_stats: cpu, precpu_stats: cpu },
      ...{ memory_stats: { usage: 1e7, limit: 1e9, stats: { cache: 1e6 } }, networks: { eth1: { rx_bytes: 10 } } },
    },
  ]);
  const task = { TaskARN: "arn:aws:ecs:eu-west-1:1:task/shop/1", Containers: ids.map((DockerId) => ({ DockerId })) };
  const answers = [JSON.stringify(task), JSON.stringify(Object.fromEntries(stats))];
  const server = http.createServer(({ url }, response) => response.end(answers[url?.endsWith("/stats") ? 1 : 0]));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const base = `http://127.0.0.1:${port}/task`;
  useEnvironment({ ECS_CONTAINER_METADATA_URI_V4: `http://127.0.0.1:${port}` });
  const bare = async () => {
    for (const url of [base, `${base}/stats`]) JSON.parse(await read(url, new http.Agent()));
    return 26 * ids.length + 28;
  };
  const often = { collection_interval: "1ms" };
  const running = await collecting("receiver/awsecscontainermetrics", {}, bare, undefined, often);
  const stop = async () => {
    await running.stop();
    server.close();
  };
  return { ...running, stop };
}

const on = { enabled: true };
const SAMPLES = Array.from({ length: 300 }, (_, i) => ({ name: "k8s.pod.phase", pod: `pod-${i}`, value: 2 }));
const NGINX_PAGE =
  "Active connections: 3 \nserver accepts handled requests\n 10 9 42 \nReading: 0 Writing: 1 Waiting: 2 \n";

const OPERATIONS = ["DELETE", "FETCH", "INSERT", "UPDATE"];
const WAIT_COLUMNS = [...OPERATIONS.map((name) => `COUNT_${name}`), ...OPERATIONS.map((name) => `SUM_TIMER_${name}`)];
const STATUS_NAMES = ["Handler_commit", "Handler_write", "Com_select", "Select_scan", "Threads_running", "Open_files"];

/** As a server with a hundred tables gives them: 560 status variables, and waits by table. */
const MYSQL_ANSWERS = {
  "SHOW GLOBAL STATUS": {
    columns: ["Variable_name", "Value"],
    rows: [
      ["Uptime", 100],
      ...Array.from({ length: 560 }, (_, i) => [STATUS_NAMES[i] ?? `Innodb_something_${i}`, i * 1000]),
    ],
  },
  table_io_waits_summary_by_table: {
    columns: ["OBJECT_NAME", "OBJECT_SCHEMA", ...WAIT_COLUMNS],
    rows: Array.from({ length: 100 }, (_, i) => [`orders_${i}`, "shop", ...WAIT_COLUMNS.map((_, j) => i * 1000 + j)]),
  },
};

/** A server that answers every command with the same INFO, and a bare client of it. */
async function startRedisReplies(/** @type {number} */ commands) {
  const lines = Array.from({ length: commands }, (_, i) => `cmdstat_c${i}:calls=${i},usec=${i * 7},usec_per_call=7.00`);
  const info = ["uptime_in_seconds:10", "connected_clients:2", "used_memory:1000000", ...lines, ""].join("\r\n");
  const reply = `$${info.length}\r\n${info}\r\n`;
  const server = net.createServer((socket) => {
    socket.on("error", () => {}).on("data", () => socket.write(reply));
  });
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const client = net.connect(port, "127.0.0.1").unref();
  const ask = async () => {
    client.write("INFO all\r\n");
    for (let size = 0; size < reply.length; ) size += (await once(client, "data"))[0].length;
  };
  return { port, ask, stop: () => void server.close() };
}

const KEPT = new http.Agent({ keepAlive: true });

/** @returns {Promise<string>} */
function read(/** @type {string} */ url, /** @type {http.Agent} */ agent) {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      response.on("error", reject).on("end", () => resolve(text));
    });
    request.on("error", reject);
  });
}

/** A receiver whose collections all have the same number of samples, and `bare`, which does equivalent work. */
async function asking(
  /** @type {string} */ of,
  /** @type {object} */ keys,
  /** @type {() => Promise<unknown>} */ bare,
) {
  let samples = 0;
  const bareTurn = async () => {
    await bare();
    return samples;
  };
  const running = await collecting(of, keys, bareTurn, ({ count }) => {
    samples = count;
    return count;
  });
  const first = await running.turn();
  return { ...running, count: () => running.count() - first };
}

/** A receiver that was started for a pod hands in one batch after another, which get the pod's attributes. */
async function startCreated() {
  const batch = Batch.admit("logs", logs(100));
  let count = 0;
  /** @type {any} */
  let child;
  const factory = {
    signals: ["logs"],
    create(/** @type {object} */ _config, /** @type {any} */ { intakes }) {
      child = intakes.logs;
      return { start: async () => {}, stop: async () => {} };
    },
  };
  const pod = { name: "cart-1", uid: "6f1c3a52", namespace: "shop", labels: {}, annotations: {} };
  const endpoints = new Map([["a", { id: "a", type: "pod", target: "10.0.0.7", variables: pod }]]);
  const observer = {
    watch(/** @type {(found: object) => void} */ listener) {
      listener(endpoints);
      return () => {};
    },
  };
  const keys = { watch_observers: ["any"], receivers: { any: { rule: 'type == "pod"' } } };
  const receiver = await component("receiver/receiver_creator", keys, {
    intakes: { logs: openIntake((stamped) => (count += stamped.count)) },
    extensions: { observer: () => observer },
    receiverTypes: { has: () => true, plan: () => ({ factory, config: {} }) },
  });
  await receiver.start();
  while (child === undefined) await new Promise(setImmediate);
  const turn = async () => {
    await child.accept(batch);
    return batch.count;
  };
  const bareTurn = async () => {
    Buffer.from(batch.bytes);
    return batch.count;
  };
  return { turn, count: () => count, bare: { turn: bareTurn }, stop: () => receiver.stop() };
}

const FILES = ["stat", "loadavg", "meminfo", "diskstats", "self/mountinfo", "net/dev", "vmstat", "swaps", "uptime"];

async function startHost(/** @type {string[]} */ scrapers) {
  const keys = { scrapers: Object.fromEntries(scrapers.map((name) => [name, {}])) };
  return asking("receiver/host_metrics", keys, async () => {
    const processes = (await readdir("/proc")).filter((name) => /^\d/.test(name));
    const files = scrapers.includes("process")
      ? processes.flatMap((pid) => [`${pid}/stat`, `${pid}/cmdline`])
      : [...FILES, ...processes.map((pid) => `${pid}/stat`)];
    for (const file of files) await readFile(`/proc/${file}`, "utf8").catch(() => {});
  });
}

/** Scraping has its own interval, and is compared with the real Prometheus: see scenarios/components.js. */
async function startScraping(
  /** @type {import("../cells.js").CellSetting} */ { target, scrapeSeconds = SCRAPE_SECONDS },
) {
  const came = new EventEmitter();
  let [samples, count] = [0, 0];
  const intake = openIntake((batch) => {
    samples += batch.count;
    count += batch.count;
    if (samples >= PAGE_SAMPLES) came.emit("page");
  });
  const job = {
    job_name: "bench",
    scrape_interval: `${scrapeSeconds}s`,
    static_configs: [{ targets: [`127.0.0.1:${target}`] }],
  };
  const keys = { config: { scrape_configs: [job] } };
  const receiver = await component("receiver/prometheus", keys, { intakes: { metrics: intake } });
  await receiver.start();
  return {
    turn: async () => {
      samples = 0;
      await once(came, "page", { signal: AbortSignal.timeout(MAX_SCRAPE_MS) });
      return PAGE_SAMPLES;
    },
    count: () => count,
    stop: () => receiver.stop(),
  };
}

/** A machine that does not finish a scrape in this time is too busy to measure anything. */
const MAX_SCRAPE_MS = 60_000;
