import { describe, expect, it, onTestFinished } from "vitest";
import { decodeTree } from "../../../src/plugin.js";
import { dockerStatsReceiver } from "../../../src/receivers/docker-stats/component.js";
import { imageFilter } from "../../../src/receivers/docker-stats/config.js";
import { TestIntake } from "../../../src/testing.js";
import { listeningLogger } from "../../exporters/support.js";
import { until } from "../../support/until.js";
import { pointsOf } from "../prometheus/harness.js";
import { startReceiver } from "../started-receiver.js";
import { startDockerServer } from "./docker-server.js";

const WEB = {
  id: "abc",
  image: "nginx:1",
  inspection: {
    Name: "/web",
    Image: "sha256:1",
    RestartCount: 2,
    State: { StartedAt: "2024-01-01T00:00:00.5Z", Health: { Status: "healthy" } },
    HostConfig: { NanoCpus: 1_500_000_000, CpuShares: 512 },
    Config: {
      Hostname: "h",
      Image: "nginx:1",
      Cmd: ["nginx", "-g"],
      Env: ["STAGE=prod", "X"],
      Labels: { team: "shop" },
    },
  },
  stats: {
    cpu_stats: {
      cpu_usage: { total_usage: 400, usage_in_kernelmode: 100, usage_in_usermode: 300 },
      system_cpu_usage: 2000,
      online_cpus: 4,
    },
    precpu_stats: { cpu_usage: { total_usage: 300 }, system_cpu_usage: 1000 },
    memory_stats: { usage: 1000, limit: 4000, stats: { inactive_file: 200, file: 250, pgfault: 9 } },
    blkio_stats: {
      io_service_bytes_recursive: [{ major: 8, minor: 0, op: "Read", value: 4096 }],
      io_queued_recursive: null,
    },
    networks: { eth0: { rx_bytes: 10, tx_bytes: 20, rx_dropped: 1, tx_dropped: 2, rx_errors: 3 } },
    pids_stats: { current: 5, limit: 100 },
  },
};

async function start(config: object, intake = new TestIntake(), logger = listeningLogger()) {
  const quick = { collection_interval: "50ms", initial_delay: 0, ...config };
  const receiver = await startReceiver(dockerStatsReceiver, quick, intake, logger, "metrics");
  onTestFinished(() => receiver.stop());
  return { intake, logger };
}

async function firstPoints(config: object): Promise<Record<string, number>> {
  const { intake } = await start(config);
  await until(() => expect(intake.batches.length).toBeGreaterThan(0));
  const entries = pointsOf(intake.batches[0]!).map(({ name, labels, data }) => {
    const own = Object.values(labels).join(",");
    return [own === "" ? name : `${name}{${own}}`, Number(data["asInt"] ?? data["asDouble"])];
  });
  return Object.fromEntries(entries);
}

describe("the docker_stats receiver", () => {
  it("measures what each running container uses, with the Collector's names", async () => {
    const docker = await startDockerServer([WEB]);
    expect(await firstPoints({ endpoint: docker.endpoint })).toEqual({
      "container.cpu.usage.total": 400,
      "container.cpu.usage.kernelmode": 100,
      "container.cpu.usage.usermode": 300,
      "container.cpu.utilization": 40,
      "container.memory.usage.total": 800,
      "container.memory.usage.limit": 4000,
      "container.memory.percent": 20,
      "container.memory.file": 250,
      "container.blockio.io_service_bytes_recursive{8,0,read}": 4096,
      "container.network.io.usage.rx_bytes{eth0}": 10,
      "container.network.io.usage.tx_bytes{eth0}": 20,
      "container.network.io.usage.rx_dropped{eth0}": 1,
      "container.network.io.usage.tx_dropped{eth0}": 2,
    });
    expect(docker.paths[0]).toBe(`/containers/json?filters=${encodeURIComponent('{"status":["running"]}')}`);
  });

  it("measures what is enabled, and leaves out what is not", async () => {
    const docker = await startDockerServer([WEB]);
    const on = [
      "container.uptime",
      "container.restarts",
      "container.cpu.limit",
      "container.pids.limit",
      "container.memory.pgfault",
    ];
    const metrics = {
      ...Object.fromEntries([...on, "container.state.health.status"].map((name) => [name, { enabled: true }])),
      "container.cpu.usage.total": { enabled: false },
    };
    const points = await firstPoints({ endpoint: docker.endpoint, metrics });
    expect(points).toMatchObject({
      "container.restarts": 2,
      "container.cpu.limit": 1.5,
      "container.pids.limit": 100,
      "container.memory.pgfault": 9,
      "container.state.health.status{healthy}": 1,
      "container.state.health.status{starting}": 0,
    });
    expect(points["container.uptime"]).toBeGreaterThan(1e6);
    expect(points).not.toHaveProperty("container.cpu.usage.total");
  });

  it("says which container it is, with labels and environment variables that are asked for", async () => {
    const docker = await startDockerServer([WEB]);
    const { intake } = await start({
      endpoint: docker.endpoint,
      container_labels_to_metric_labels: { team: "team", none: "none" },
      env_vars_to_metric_labels: { STAGE: "stage" },
      resource_attributes: { "container.hostname": { enabled: false }, "container.image.id": { enabled: true } },
    });
    await until(() => expect(intake.batches.length).toBeGreaterThan(0));
    const { resourceMetrics } = decodeTree(intake.batches[0]!) as unknown as {
      resourceMetrics: { resource: { attributes: { key: string; value: { stringValue: string } }[] } }[];
    };
    const attributes = resourceMetrics[0]!.resource.attributes.map(({ key, value }) => [key, value.stringValue]);
    expect(Object.fromEntries(attributes)).toEqual({
      "container.runtime": "docker",
      "container.id": "abc",
      "container.name": "web",
      "container.image.name": "nginx:1",
      "container.image.id": "sha256:1",
      stage: "prod",
      team: "shop",
    });
  });

  it("goes on with the others when one container cannot be measured", async () => {
    const docker = await startDockerServer([
      { id: "bad", image: "x", status: 500 },
      WEB,
      { id: "out", image: "redis:7" },
    ]);
    const { intake, logger } = await start({ endpoint: docker.endpoint, excluded_images: ["redis*"] });
    await until(() => expect(intake.batches.length).toBeGreaterThan(0));
    expect(pointsOf(intake.batches[0]!).length).toBeGreaterThan(5);
    expect(logger.lines[0]).toMatchObject({
      level: "warn",
      fields: { scraper: "bad", reason: "Docker answers 500: it is broken" },
    });
    expect(docker.paths.some((path) => path.includes("/out/"))).toBe(false);
  });

  it("asks in the newest version when Docker calls that of the config too old", async () => {
    const docker = await startDockerServer([WEB], "1.44");
    const { intake } = await start({ endpoint: docker.endpoint, api_version: 1.25 });
    await until(() => expect(intake.batches.length).toBeGreaterThan(0));
    expect(docker.paths[0]).toMatch(/^\/v1\.25\/containers/);
  });

  it("starts without Docker, reports it, and stops at once", async () => {
    const { logger } = await start({ endpoint: "unix:///nowhere/docker.sock" });
    await until(() => expect(logger.lines.length).toBeGreaterThan(0));
    expect(logger.lines[0]!.fields).toMatchObject({ scraper: "all", reason: expect.stringContaining("ENOENT") });
  });

  it.each([["docker.sock"], ["unix://"], ["npipe:////./pipe/docker_engine"]])("refuses the endpoint %s", (endpoint) => {
    expect(dockerStatsReceiver.schema.safeParse({ endpoint }).success).toBe(false);
  });
});

it("finds images by name, glob, pattern, or by what they are not", () => {
  expect(imageFilter(["nginx:1"])("nginx:1")).toBe(true);
  expect(imageFilter(["nginx:?", "re*s"])("redis")).toBe(true);
  expect(imageFilter(["/^my-.*$/"])("my-app")).toBe(true);
  expect(imageFilter(["!my-*"])("my-app")).toBe(false);
  expect(imageFilter(["!my-*"])("other")).toBe(true);
  expect(imageFilter([])("any")).toBe(false);
});
