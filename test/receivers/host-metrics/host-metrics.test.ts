import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { batchToJson, Refusal, type Signal } from "../../../src/plugin.js";
import { hostMetricsReceiver } from "../../../src/receivers/host-metrics/component.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import type { ReceiverContext } from "../../../src/runtime/contract/component.js";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { TestIntake } from "../../../src/testing.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { until } from "../../support/until.js";
import { type Point, pointsOf } from "../prometheus/harness.js";

async function start(config: object, intake = new TestIntake(), logger = silentLogger, signal: Signal = "metrics") {
  const context: ReceiverContext = {
    id: "host_metrics",
    kind: "receiver",
    logger,
    metrics: noMetrics,
    clock: systemClock,
    random: () => 0.5,
    intakes: { [signal]: intake },
  };
  const quick = { collection_interval: "100ms", initial_delay: 0, ...config };
  const receiver = hostMetricsReceiver.create(hostMetricsReceiver.schema.parse(quick), context);
  await receiver.start();
  onTestFinished(() => receiver.stop());
  return { receiver, intake, points: () => intake.batches.flatMap(pointsOf) };
}

const numberOf = ({ data }: Point) => Number(data["asInt"] ?? data["asDouble"]);

/** Values by name and attributes. */
function values(points: readonly Point[]): Record<string, number> {
  const entries = points.map((point) => {
    const labels = Object.entries(point.labels).map(([name, value]) => `${name}=${value}`);
    return [`${point.name}${labels.length === 0 ? "" : `{${labels.join(",")}}`}`, numberOf(point)] as const;
  });
  return Object.fromEntries(entries);
}

/** A machine made of files. */
function machine(files: Readonly<Record<string, string>>): string {
  const root = temporaryFolder();
  for (const [path, text] of Object.entries({ stat: STAT, ...files })) {
    const file = join(root, "proc", path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text);
  }
  return root;
}

const STAT = `cpu  300 0 0 100 0 0 0 0 0 0
cpu0 100 2 30 400 5 6 7 8 0 0
cpu1 200 0 0 0 0 0 0 0 0 0
btime 1700000000
processes 42
`;

async function measure(root: string, scrapers: object): Promise<Record<string, number>> {
  const { intake } = await start({ root_path: root, scrapers });
  await until(() => expect(intake.batches.length).toBeGreaterThan(0));
  return values(pointsOf(intake.batches[0]!));
}

describe("the host_metrics receiver", () => {
  it("reports the host to a pipeline of logs, at the start and at intervals, as the Collector does", async () => {
    const keys = { scrapers: { load: {} }, metadata_collection_interval: "50ms" };
    const { intake } = await start(keys, new TestIntake(), silentLogger, "logs");
    await until(() => expect(intake.batches.length).toBeGreaterThan(1));
    const { resourceLogs } = JSON.parse(batchToJson(intake.batches[0]!));
    const [{ scope, logRecords }] = resourceLogs[0].scopeLogs;
    expect(scope.attributes).toEqual([{ key: "otel.entity.event_as_log", value: { boolValue: true } }]);
    expect(logRecords[0].attributes).toEqual([
      { key: "otel.entity.event.type", value: { stringValue: "entity_state" } },
      { key: "otel.entity.type", value: { stringValue: "host" } },
      { key: "otel.entity.interval", value: { intValue: "50" } },
    ]);
    expect(Number(logRecords[0].timeUnixNano)).toBeGreaterThan(1.7e18);
  });

  it("reports the host once if the interval is 0", async () => {
    const keys = { scrapers: { load: {} }, metadata_collection_interval: 0 };
    const { intake } = await start(keys, new TestIntake(), silentLogger, "logs");
    await until(() => expect(intake.batches).toHaveLength(1));
    expect(batchToJson(intake.batches[0]!)).not.toContain("otel.entity.interval");
  });

  it("reads CPU, load, memory, paging and processes from the machine at root_path", async () => {
    const root = machine({
      loadavg: "1.5 0.5 0.25 1/100 42\n",
      meminfo:
        "MemTotal: 1000 kB\nMemFree: 400 kB\nMemAvailable: 600 kB\nBuffers: 100 kB\nCached: 150 kB\nInactive: 20 kB\nSReclaimable: 50 kB\nSUnreclaim: 10 kB\n",
      swaps: "Filename Type Size Used Priority\n/dev/sda2 partition 2048 512 -2\n",
      vmstat: "pgpgin 5\npgpgout 6\npswpin 7\npswpout 8\npgfault 100\npgmajfault 30\n",
      uptime: "12.5 1\n",
      cpuinfo: "processor\t: 0\ncpu MHz\t\t: 1000.000\n\nprocessor\t: 1\ncpu MHz\t\t: 2000.500\n",
      "7/stat": "7 (a (b) c) S 1 7 7 0\n",
      "8/stat": "8 (z) Z 1 7 7 0\n",
    });
    const metrics = { "system.memory.limit": { enabled: true }, "system.memory.utilization": { enabled: true } };
    const measured = await measure(root, {
      cpu: { metrics: { "system.cpu.frequency": { enabled: true } } },
      load: { cpu_average: true },
      memory: { metrics },
      paging: null,
      processes: {},
      system: {},
    });
    expect(measured).toMatchObject({
      "system.cpu.time{state=user}": 3,
      "system.cpu.time{state=wait}": 0.05,
      "system.cpu.time{state=steal}": 0.08,
      "system.cpu.logical.count": 2,
      "system.cpu.frequency{cpu=cpu1}": 2_000_500_000,
      "system.cpu.load_average.1m": 0.75,
      "system.memory.usage{state=used}": 400 * 1024,
      "system.memory.usage{state=cached}": 200 * 1024,
      "system.memory.utilization{state=free}": 0.4,
      "system.memory.limit": 1000 * 1024,
      "system.paging.usage{device=/dev/sda2,state=used}": 512 * 1024,
      "system.paging.operations{direction=page_out,type=major}": 8,
      "system.paging.faults{type=minor}": 70,
      "system.processes.created": 42,
      "system.processes.count{status=sleeping}": 1,
      "system.processes.count{status=zombies}": 1,
      "system.processes.count{status=running}": 0,
      "system.processes.count{status=blocked}": 0,
      "system.uptime": 12.5,
    });
  });

  it("reads disks, file systems and interfaces, and leaves out what the filters say", async () => {
    const root = machine({
      diskstats: "8 0 sda 1 2 3 4000 5 6 7 8000 9 10000 11000 0 0 0 0\n7 0 loop0 1 1 1 1 1 1 1 1 1 1 1\n",
      "1/mounts": `/dev/sda1 / ext4 rw,relatime 0 0\n/dev/sdb1 /a\\040b ext4 ro 0 0\ntmpfs /run tmpfs rw 0 0\n`,
      "1/net/dev":
        "Inter-| x\n face | y\n  lo: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\neth0:10 20 30 40 0 0 0 0 50 60 70 80 0 0 0 0\n",
      "1/net/tcp": "  sl local\n 0: 00 00 0A x\n 1: 00 00 01 x\n",
      filesystems: "nodev\ttmpfs\n\text4\n",
    });
    mkdirSync(join(root, "a b"));
    const measured = await measure(root, {
      disk: { exclude: { devices: ["^loop"], match_type: "regexp" } },
      filesystem: {
        exclude_mount_points: { mount_points: ["/"], match_type: "strict" },
        metrics: { "system.filesystem.utilization": { enabled: true } },
      },
      network: { include: { interfaces: ["eth0"], match_type: "strict" } },
    });
    expect(measured).toMatchObject({
      "system.disk.io{device=sda,direction=read}": 3 * 512,
      "system.disk.operations{device=sda,direction=write}": 5,
      "system.disk.operation_time{device=sda,direction=write}": 8,
      "system.disk.io_time{device=sda}": 10,
      "system.disk.pending_operations{device=sda}": 9,
      "system.network.io{device=eth0,direction=transmit}": 50,
      "system.network.dropped{device=eth0,direction=receive}": 40,
      "system.network.connections{protocol=tcp,state=LISTEN}": 1,
      "system.network.connections{protocol=tcp,state=ESTABLISHED}": 1,
    });
    const names = Object.keys(measured);
    expect(names.some((name) => /loop0|device=lo|tmpfs/.test(name))).toBe(false);
    const mounts = new Set(
      names.filter((name) => name.startsWith("system.filesystem")).map((name) => /mountpoint=([^,}]*)/.exec(name)![1]),
    );
    expect([...mounts]).toEqual(["/a b"]);
  });

  it("measures processes, each with its own resource", async () => {
    const { points } = await start({
      scrapers: {
        process: {
          // Node.js 24 calls its first thread, and with it the process, MainThread.
          include: { names: ["node", "MainThread"], match_type: "regexp" },
          metrics: { "process.threads": { enabled: true }, "process.cpu.utilization": { enabled: true } },
        },
      },
    });
    const mine = () =>
      points().filter(({ data, resource }) => data !== undefined && resource["process.command_line"]?.includes("node"));
    await until(() => expect(mine().some(({ name }) => name === "process.cpu.utilization")).toBe(true));
    const names = new Set(mine().map(({ name }) => name));
    expect([...names]).toEqual(
      expect.arrayContaining(["process.cpu.time", "process.memory.usage", "process.memory.virtual", "process.threads"]),
    );
  });

  it("merges points that differ only in attributes which are not chosen", async () => {
    const cpu = (settings: object) => measure(machine({}), { cpu: { metrics: { "system.cpu.time": settings } } });
    expect(await cpu({ attributes: ["cpu"] })).toMatchObject({
      "system.cpu.time{cpu=cpu0}": 5.579999999999999,
      "system.cpu.time{cpu=cpu1}": 2,
    });
    expect(await cpu({ aggregation_strategy: "avg" })).toMatchObject({ "system.cpu.time{state=user}": 1.5 });
    expect(await cpu({ aggregation_strategy: "max" })).toMatchObject({ "system.cpu.time{state=user}": 2 });
    expect(await cpu({ attributes: [], aggregation_strategy: "min" })).toMatchObject({ "system.cpu.time": 0 });
  });

  it("adds up the context switches of a process's threads, and counts its calls and pending signals", async () => {
    const status = "Uid:\t0\t0\nThreads:\t2\nShdPnd:\t0000000000000202\n";
    const switches = (voluntary: number, others: number) =>
      `voluntary_ctxt_switches:\t${voluntary}\nnonvoluntary_ctxt_switches:\t${others}\n`;
    const root = machine({
      meminfo: "MemTotal: 1000 kB\n",
      "7/stat": `7 (shop) S 1 ${"0 ".repeat(48)}\n`,
      "7/cmdline": "/bin/shop\0",
      "7/status": status,
      "7/io": "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\n",
      "7/task/7/status": switches(10, 1),
      "7/task/8/status": switches(20, 2),
    });
    const names = ["process.context_switches", "process.disk.operations", "process.signals_pending"];
    const metrics = Object.fromEntries(names.map((name) => [name, { enabled: true }]));
    expect(await measure(root, { process: { metrics } })).toMatchObject({
      "process.context_switches{type=voluntary}": 30,
      "process.context_switches{type=involuntary}": 3,
      "process.disk.io{direction=write}": 2,
      "process.disk.operations{direction=read}": 3,
      "process.disk.operations{direction=write}": 4,
      "process.signals_pending": 2,
    });
  });

  it("goes on when a file is not there, and holds what was measured until it is taken", async () => {
    const root = machine({ loadavg: "1 2 3 1/1 1\n" });
    const intake = new TestIntake();
    intake.answer = () => ({ ok: false, refusal: new Refusal("transient", "not now") });
    await start({ root_path: root, scrapers: { memory: {}, load: {} } }, intake);
    await until(() => expect(intake.batches.length).toBeGreaterThan(3));
    expect(new Set(intake.batches).size).toBe(1);
    intake.answer = () => ACCEPTED;
    await until(() => expect(new Set(intake.batches).size).toBeGreaterThan(2));
    expect(values(pointsOf(intake.batches[0]!))).toEqual({
      "system.cpu.load_average.1m": 1,
      "system.cpu.load_average.5m": 2,
      "system.cpu.load_average.15m": 3,
    });
  });

  it("says that the machine is not mounted, and measures it once it is", async () => {
    const root = join(temporaryFolder(), "hostfs");
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (_: object, message: string) => void warnings.push(message) };
    const { intake, points } = await start({ root_path: root, scrapers: { load: {} } }, new TestIntake(), logger);
    expect(warnings).toEqual([expect.stringContaining("there is no /proc to read")]);
    await until(() => expect(warnings).toContain("something could not be measured"));
    expect(intake.batches).toEqual([]);
    renameSync(machine({ loadavg: "1 2 3 1/1 1\n" }), root);
    await until(() => expect(values(points())).toMatchObject({ "system.cpu.load_average.1m": 1 }));
  });

  const hasNodeExporter = spawnSync("prometheus-node-exporter", ["--version"]).error === undefined;
  if (!hasNodeExporter)
    console.warn("skipped: this test needs prometheus-node-exporter (Debian: prometheus-node-exporter)");

  it.skipIf(!hasNodeExporter)("agrees with node-exporter where both tell", async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const child = spawn("prometheus-node-exporter", [`--web.listen-address=${address}`], { stdio: "ignore" });
    onTestFinished(async () => {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    });
    const theirs = async () => {
      const text = await (await fetch(`http://${address}/metrics`)).text();
      return new Map(
        text
          .split("\n")
          .filter((line) => !line.startsWith("#"))
          .map((line) => {
            const at = line.lastIndexOf(" ");
            return [line.slice(0, at), Number(line.slice(at + 1))] as const;
          }),
      );
    };
    await until(theirs);
    const before = await theirs();
    const { intake } = await start({
      scrapers: {
        cpu: { metrics: { "system.cpu.time": { attributes: ["cpu", "state"] } } },
        memory: { metrics: { "system.memory.limit": { enabled: true } } },
        network: {},
        disk: {},
        filesystem: {},
        paging: {},
      },
    });
    await until(() => expect(intake.batches.length).toBeGreaterThan(0));
    const ours = values(pointsOf(intake.batches[0]!));
    const after = await theirs();
    let compared = 0;
    /**
     * A counter is between node-exporter's values before and after. node-exporter does not report all of them on every
     * machine.
     */
    const between = (name: string, their: string) => {
      if (!before.has(their)) return;
      compared++;
      expect([their, before.get(their)! <= ours[name]! + 0.02 && ours[name]! <= after.get(their)! + 0.02]).toEqual([
        their,
        true,
      ]);
    };
    between("system.cpu.time{cpu=cpu0,state=user}", 'node_cpu_seconds_total{cpu="0",mode="user"}');
    between("system.cpu.time{cpu=cpu1,state=system}", 'node_cpu_seconds_total{cpu="1",mode="system"}');
    between("system.network.io{device=lo,direction=receive}", 'node_network_receive_bytes_total{device="lo"}');
    between("system.network.packets{device=lo,direction=transmit}", 'node_network_transmit_packets_total{device="lo"}');
    between("system.paging.faults{type=major}", "node_vmstat_pgmajfault");
    between("system.paging.operations{direction=page_out,type=minor}", "node_vmstat_pgpgout");
    expect(compared).toBeGreaterThan(3);
    expect(ours["system.memory.limit"]).toBe(before.get("node_memory_MemTotal_bytes"));
    const root = Object.keys(ours).filter(
      (name) => name.startsWith("system.filesystem.usage") && name.includes("mountpoint=/,"),
    );
    const size = [...before].find(
      ([name]) => name.startsWith("node_filesystem_size_bytes") && name.includes('mountpoint="/"'),
    );
    if (size !== undefined) expect(root.reduce((sum, name) => sum + ours[name]!, 0)).toBe(size[1]);
    for (const [name, value] of before) {
      const device = /^node_disk_read_bytes_total\{device="(.*)"\}$/.exec(name)?.[1];
      if (device !== undefined)
        expect(ours[`system.disk.io{device=${device},direction=read}`] ?? 0).toBeGreaterThanOrEqual(value);
    }
  });
});
