import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { decodeTree, type ReceiverFactory } from "../../../src/plugin.js";
import { ecsContainerMetricsReceiver } from "../../../src/receivers/aws-ecs-container-metrics/component.js";
import { type Logger, silentLogger } from "../../../src/runtime/contract/observability.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { receiverConformance, TestIntake } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { startReceiver } from "../started-receiver.js";

const MIB = 1024 * 1024;
const UNLIMITED = 2 ** 63 - 4096;

/** Answers in the form that AWS documents for version 4 of the task metadata endpoint. */
const TASK = {
  Cluster: "arn:aws:ecs:eu-west-1:111122223333:cluster/shop",
  TaskARN: "arn:aws:ecs:eu-west-1:111122223333:task/shop/158d1c8083dd49d6",
  Family: "cart",
  ServiceName: "cart-service",
  Revision: "5",
  KnownStatus: "RUNNING",
  PullStartedAt: "2026-01-02T03:00:00.1Z",
  PullStoppedAt: "2026-01-02T03:00:09.9Z",
  AvailabilityZone: "eu-west-1b",
  LaunchType: "FARGATE",
  Limits: { CPU: 0.5, Memory: 1024 },
  EphemeralStorageMetrics: { Utilized: 261, Reserved: 20496 },
  Containers: [
    {
      DockerId: "c-1",
      Name: "web",
      DockerName: "ecs-cart-web",
      Image: "registry:5000/shop/cart:1.2@sha256:abc",
      ImageID: "sha256:abc",
      KnownStatus: "RUNNING",
      Limits: { CPU: 2, Memory: 128 },
      CreatedAt: "2026-01-02T03:00:10Z",
      StartedAt: "2026-01-02T03:00:11Z",
    },
    {
      DockerId: "c-2",
      Name: "setup",
      Image: "busybox",
      KnownStatus: "STOPPED",
      ExitCode: 3,
      StartedAt: "2026-01-02T03:00:10.25Z",
      FinishedAt: "2026-01-02T03:00:12.000000001Z",
    },
  ],
};
const STATS = {
  "c-1": {
    id: "c-1",
    name: "/ecs-cart-web",
    read: "2026-01-02T03:04:11.5Z",
    preread: "2026-01-02T03:04:10.5Z",
    memory_stats: { usage: 10 * MIB, max_usage: 12 * MIB, limit: UNLIMITED, stats: { cache: 2 * MIB } },
    cpu_stats: {
      cpu_usage: {
        total_usage: 1_500_000_000,
        percpu_usage: [1, 2],
        usage_in_kernelmode: 300,
        usage_in_usermode: 1200,
      },
      system_cpu_usage: 7_000_000_000,
      online_cpus: 2,
    },
    precpu_stats: { cpu_usage: { total_usage: 1_250_000_000 } },
    networks: { eth0: { rx_bytes: 100, tx_packets: 2 }, eth1: { rx_bytes: 11, rx_dropped: 1 } },
    network_rate_stats: { rx_bytes_per_sec: 12.5, tx_bytes_per_sec: 4 },
    blkio_stats: {
      io_service_bytes_recursive: [
        { op: "Read", value: 5 },
        { op: "Write", value: 6 },
        { op: "Read", value: 7 },
        { op: "Total", value: 18 },
      ],
    },
  },
  "c-2": null,
};

let answers: Record<string, string> = {};
let server: Server;
const quick = { collection_interval: "20ms" };

beforeAll(async () => {
  server = createServer((request, response) => {
    const answer = answers[request.url!];
    response.writeHead(answer === undefined ? 404 : 200).end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => void server.close());
afterEach(() => useEnvironment({}));

const uri = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/v4/me`;
const useTask = (task: unknown, stats: unknown) => {
  answers = { "/v4/me/task": JSON.stringify(task), "/v4/me/task/stats": JSON.stringify(stats) };
  useEnvironment({ ECS_CONTAINER_METADATA_URI_V4: uri() });
};

async function start(): Promise<{ intake: TestIntake; reasons: string[] }> {
  const intake = new TestIntake();
  const reasons: string[] = [];
  const warn = (details: object) => void reasons.push(String((details as { reason?: string }).reason));
  const logger = { ...silentLogger, warn } as Logger;
  const factory = ecsContainerMetricsReceiver as ReceiverFactory;
  const receiver = await startReceiver(factory, quick, intake, logger, "metrics");
  onTestFinished(() => receiver.stop());
  return { intake, reasons };
}

type Entry = { key: string; value: { stringValue?: string; intValue?: bigint } };
type Points = { isMonotonic?: boolean; dataPoints: { asInt?: bigint; asDouble?: number }[] };

/** The resources of a batch: attributes, and values by metric. */
function resourcesOf(intake: TestIntake) {
  const batch = intake.batches[0];
  if (batch === undefined) return [];
  const { resourceMetrics } = decodeTree(batch) as unknown as {
    resourceMetrics: {
      resource: { attributes: Entry[] };
      scopeMetrics: { metrics: { name: string; sum?: Points; gauge?: Points }[] }[];
    }[];
  };
  return resourceMetrics.map(({ resource, scopeMetrics }) => ({
    attributes: Object.fromEntries(
      resource.attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]),
    ),
    values: Object.fromEntries(
      scopeMetrics[0]!.metrics.map(({ name, sum, gauge }) => {
        const { asInt, asDouble } = (sum ?? gauge!).dataPoints[0]!;
        return [name, asInt === undefined ? asDouble : Number(asInt)];
      }),
    ),
  }));
}

describe("the awsecscontainermetrics receiver", () => {
  it("gives the metrics of running containers, how long others ran, and the sums of the task", async () => {
    useTask(TASK, STATS);
    const { intake } = await start();
    await expect.poll(() => intake.batches.length).toBeGreaterThan(0);
    const [web, setup, task] = resourcesOf(intake);
    expect(web!.values).toMatchObject({
      "container.memory.usage": 10 * MIB,
      "container.memory.usage.limit": UNLIMITED,
      "container.memory.utilized": 8,
      "container.memory.reserved": 128,
      "container.cpu.usage.total": 1_500_000_000,
      "container.cpu.cores": 2,
      "container.cpu.usage.vcpu": 0.25,
      "container.cpu.reserved": 2,
      "container.cpu.utilized": 12.5,
      "container.network.rate.rx": 12.5,
      "container.network.io.usage.rx_bytes": 111,
      "container.network.io.usage.rx_dropped": 1,
      "container.network.io.usage.tx_packets": 2,
      "container.storage.read_bytes": 12,
      "container.storage.write_bytes": 6,
    });
    expect(Object.keys(web!.values)).toHaveLength(26);
    expect(setup!.values).toEqual({ "container.duration": 1.750000001 });
    expect(task!.values).toMatchObject({
      "ecs.task.memory.usage": 10 * MIB,
      "ecs.task.memory.reserved": 1024,
      "ecs.task.cpu.reserved": 512,
      "ecs.task.cpu.utilized": 256,
      "ecs.task.ephemeral_storage.utilized": 261,
      "ecs.task.ephemeral_storage.reserved": 20496,
    });
    expect(Object.keys(task!.values)).toHaveLength(28);
  });

  it("names the container, its image and its task in the resource", async () => {
    useTask(TASK, STATS);
    const { intake } = await start();
    await expect.poll(() => intake.batches.length).toBeGreaterThan(0);
    const [web, setup, task] = resourcesOf(intake);
    expect(web!.attributes).toMatchObject({
      "container.name": "web",
      "container.id": "c-1",
      "container.image.name": "registry:5000/shop/cart",
      "container.image.tag": "1.2",
      "aws.ecs.container.know_status": "RUNNING",
      ...task!.attributes,
    });
    expect(setup!.attributes).toMatchObject({ "container.image.tag": "latest", "aws.ecs.container.exit_code": 3 });
    expect(task!.attributes).toEqual({
      "aws.ecs.cluster.name": "shop",
      "aws.ecs.task.arn": TASK.TaskARN,
      "aws.ecs.task.id": "158d1c8083dd49d6",
      "aws.ecs.task.family": "cart",
      "aws.ecs.task.version": "5",
      "aws.ecs.task.revision": "5",
      "aws.ecs.service.name": "cart-service",
      "cloud.availability_zone": "eu-west-1b",
      "aws.ecs.task.pull_started_at": "2026-01-02T03:00:00.1Z",
      "aws.ecs.task.pull_stopped_at": "2026-01-02T03:00:09.9Z",
      "aws.ecs.task.known_status": "RUNNING",
      "aws.ecs.task.launch_type": "FARGATE",
      "aws.ecs.launchtype": "fargate",
      "cloud.region": "eu-west-1",
      "cloud.account.id": "111122223333",
    });
  });

  it("says that it needs a task, and what the endpoint answered", async () => {
    const { reasons } = await start();
    await expect.poll(() => reasons.join()).toContain("does not run in a task of Amazon ECS");
    answers = { "/v4/me/task": "{}" };
    useEnvironment({ ECS_CONTAINER_METADATA_URI_V4: uri() });
    const other = await start();
    await expect.poll(() => other.reasons.join()).toContain("/v4/me/task/stats: answered 404");
    expect(other.intake.batches).toEqual([]);
  });

  it.each([
    ["no objects", [1, "x"], "text"],
    ["wrong types", { ...TASK, Cluster: 5, Limits: "x", Containers: [null, 7, { DockerId: {} }] }, { "c-1": [] }],
    ["wrong numbers", TASK, { "c-1": { ...STATS["c-1"], read: "soon", memory_stats: { usage: "many", stats: null } } }],
  ])("survives answers with %s", async (_, task, stats) => {
    useTask(task, stats);
    const { intake } = await start();
    await expect.poll(() => intake.batches.length).toBeGreaterThan(0);
    expect(resourcesOf(intake).at(-1)!.values).toMatchObject({ "ecs.task.cpu.usage.vcpu": 0 });
  });

  it("gives up an endless answer", async () => {
    useTask(TASK, STATS);
    answers["/v4/me/task"] = `"${"x".repeat(5_000_000)}"`;
    const { intake, reasons } = await start();
    await expect.poll(() => reasons.join()).toContain("longer than");
    expect(intake.batches).toEqual([]);
  });

  const config = () => {
    useTask(TASK, STATS);
    return quick;
  };
  const factory = ecsContainerMetricsReceiver as ReceiverFactory;
  for (const { name, run } of receiverConformance(factory, { config, patienceMs })) it(name, run);

  it("refuses keys it does not have", () => {
    expect(() => ecsContainerMetricsReceiver.schema.parse({ endpoint: "http://x" })).toThrow("endpoint");
  });
});
