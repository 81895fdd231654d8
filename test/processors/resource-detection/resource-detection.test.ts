import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { batchFromJson, type Logger, type ProcessorContext, readRecords, type Value } from "../../../src/plugin.js";
import { createResourceDetection } from "../../../src/processors/resource-detection/component.js";
import { schema } from "../../../src/processors/resource-detection/config.js";
import { detectAttributes } from "../../../src/processors/resource-detection/detect.js";
import type { DetectorEndpoints } from "../../../src/processors/resource-detection/detector.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { feed, owed } from "../../support/deliveries.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { until } from "../../support/until.js";
import { startMetadataServer } from "./metadata-server.js";

afterEach(() => useEnvironment({}));

/** Nothing listens there: no test asks a real metadata service. */
const NOWHERE: DetectorEndpoints = {
  linkLocal: "http://127.0.0.1:9",
  google: "http://127.0.0.1:9",
  dockerSocket: "/nonexistent/docker.sock",
  kubernetes: "http://127.0.0.1:9",
};

type Line = readonly [fields: unknown, message: unknown];

function recordingLogger(lines: Line[]): Logger {
  const warn = (...line: unknown[]) => void lines.push([line[0], line[1]]);
  return Object.assign(Object.create(silentLogger) as Logger, { warn });
}

async function detect(config: object, endpoints: Partial<DetectorEndpoints> = {}) {
  const warnings: Line[] = [];
  const context = { clock: systemClock, logger: recordingLogger(warnings) };
  const signal = new AbortController().signal;
  const found = await detectAttributes(schema.parse(config), context, { ...NOWHERE, ...endpoints }, signal);
  return { found: Object.fromEntries(found) as Record<string, Value>, warnings };
}

describe("detectors", () => {
  it("env reads the variable, percent-encoded", async () => {
    useEnvironment({ OTEL_RESOURCE_ATTRIBUTES: " a=1 , b = x%20y%2Cz,c=" });
    expect((await detect({})).found).toEqual({ a: "1", b: "x y,z", c: "" });
    useEnvironment({ OTEL_RESOURCE: "old=1" });
    expect((await detect({})).found).toEqual({ old: "1" });
  });

  it.each(["novalue", "=x", "a=%ZZ"])("env finds nothing in %s, and reports it", async (text) => {
    useEnvironment({ OTEL_RESOURCE_ATTRIBUTES: text });
    const { found, warnings } = await detect({ detectors: ["env"] });
    expect(found).toEqual({});
    expect(warnings).toHaveLength(1);
  });

  it("system knows the machine's name and type, and more on request", async () => {
    const system = { hostname_sources: ["os"] };
    const enabledByDefault = (await detect({ detectors: ["system"], system })).found;
    expect(enabledByDefault).toEqual({ "host.name": hostname(), "os.type": expect.stringMatching(/^[a-z]+$/) });
    const choices = { "os.description": { enabled: true }, "host.arch": {}, "os.type": { enabled: false } };
    const chosen = await detect({ detectors: ["system"], system: { ...system, resource_attributes: choices } });
    expect(Object.keys(chosen.found).sort()).toEqual(["host.arch", "host.name", "os.description"]);
  });

  it.runIf(process.platform === "linux")("system has every interface, the distribution and the kernel", async () => {
    const names = ["host.interface", "host.ip", "host.mac", "os.description"];
    const resource_attributes = Object.fromEntries(names.map((name) => [name, { enabled: true }]));
    const { found } = await detect({
      detectors: ["system"],
      system: { hostname_sources: ["os"], resource_attributes },
    });
    expect(found["host.interface"]).toContain("lo");
    expect(found["host.ip"]).not.toContain("127.0.0.1");
    expect(found["host.mac"]).not.toContain("00-00-00-00-00-00");
    const distribution = /^PRETTY_NAME="(.+)"$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1];
    expect(found["os.description"]).toContain(`${distribution} (Linux ${hostname()} `);
  });

  it("system always has a name by its default sources, as the last is the operating system", async () => {
    const { found } = await detect({ detectors: ["system"] });
    expect(found["host.name"]).toMatch(/./);
  });

  it("docker asks the engine's socket", async () => {
    const dockerSocket = join(temporaryFolder(), "docker.sock");
    const server = createServer((request, response) =>
      response.writeHead(request.url === "/info" ? 200 : 404).end('{"Name":"engine","OSType":"Linux"}'),
    ).listen(dockerSocket);
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const { found } = await detect({ detectors: ["docker"] }, { dockerSocket });
    expect(found).toEqual({ "host.name": "engine", "os.type": "linux" });
  });

  const INSTANCE = {
    "/latest/dynamic/instance-identity/document": {
      accountId: "123456789012",
      availabilityZone: "eu-west-1a",
      region: "eu-west-1",
      instanceId: "i-1",
      imageId: "ami-1",
      instanceType: "m5.large",
    },
    "/latest/meta-data/hostname": "ip-10-0-0-1.ec2.internal",
  };
  const EC2_FOUND = {
    "cloud.account.id": "123456789012",
    "cloud.availability_zone": "eu-west-1a",
    "cloud.region": "eu-west-1",
    "host.id": "i-1",
    "host.image.id": "ami-1",
    "host.name": "ip-10-0-0-1.ec2.internal",
    "host.type": "m5.large",
  };

  it("ec2 asks with a token", async () => {
    const { url, seen } = await startMetadataServer(INSTANCE);
    const { found } = await detect({ detectors: ["ec2"] }, { linkLocal: url });
    expect(found).toEqual({ "cloud.provider": "aws", "cloud.platform": "aws_ec2", ...EC2_FOUND });
    expect(seen[0]).toBe("PUT /latest/api/token");
  });

  it("eks recognises its cluster by the version, and finds nothing in others", async () => {
    const eks = { detectors: ["eks"], eks: { resource_attributes: { "cloud.region": { enabled: true } } } };
    useEnvironment({ KUBERNETES_SERVICE_HOST: "10.0.0.1" });
    const { url } = await startMetadataServer({ ...INSTANCE, "/version": { gitVersion: "v1.30.1-eks-abc" } });
    const inEks = await detect(eks, { linkLocal: url, kubernetes: url });
    const expected = { "cloud.provider": "aws", "cloud.platform": "aws_eks" };
    expect(inEks.found).toEqual({ ...expected, "cloud.region": "eu-west-1" });
    expect((await detect(eks, { kubernetes: url })).found).toEqual(expected);
    const other = await startMetadataServer({ "/version": { gitVersion: "v1.30.1" } });
    expect((await detect(eks, { kubernetes: other.url })).found).toEqual({});
    useEnvironment({});
    expect((await detect(eks, { linkLocal: url, kubernetes: url })).found).toEqual({});
  });

  const GOOGLE = {
    "/computeMetadata/v1/project/project-id": "shop",
    "/computeMetadata/v1/instance/id": "9223372036854775807",
    "/computeMetadata/v1/instance/zone": "projects/1/zones/europe-west1-b",
    "/computeMetadata/v1/instance/region": "projects/1/regions/europe-west1",
    "/computeMetadata/v1/instance/machine-type": "projects/1/machineTypes/e2-small",
    "/computeMetadata/v1/instance/name": "vm",
    "/computeMetadata/v1/instance/hostname": "vm.c.shop.internal",
  };
  const ON_GOOGLE = { "cloud.provider": "gcp", "cloud.account.id": "shop" };

  it("gcp detects a machine and its instance group", async () => {
    const maker = "projects/1/zones/europe-west1-b/instanceGroupManagers/group";
    const { url } = await startMetadataServer({
      ...GOOGLE,
      "/computeMetadata/v1/instance/attributes/created-by": maker,
    });
    expect((await detect({ detectors: ["gcp"] }, { google: url })).found).toEqual({
      ...ON_GOOGLE,
      "cloud.platform": "gcp_compute_engine",
      "cloud.availability_zone": "europe-west1-b",
      "cloud.region": "europe-west1",
      "host.type": "e2-small",
      "host.id": "9223372036854775807",
      "host.name": "vm",
      "gcp.gce.instance_group_manager.name": "group",
      "gcp.gce.instance_group_manager.zone": "europe-west1-b",
    });
  });

  it("gcp knows GKE, Cloud Run and App Engine", async () => {
    const { url } = await startMetadataServer({
      ...GOOGLE,
      "/computeMetadata/v1/instance/attributes/cluster-location": "europe-west1",
      "/computeMetadata/v1/instance/attributes/cluster-name": "c1",
    });
    const found = async () => (await detect({ detectors: ["gke"] }, { google: url })).found;
    useEnvironment({ KUBERNETES_SERVICE_HOST: "10.0.0.1" });
    expect(await found()).toEqual({
      ...ON_GOOGLE,
      "cloud.platform": "gcp_kubernetes_engine",
      "cloud.region": "europe-west1",
      "k8s.cluster.name": "c1",
      "host.id": "9223372036854775807",
      "host.name": "vm",
    });
    useEnvironment({ K_CONFIGURATION: "c", K_SERVICE: "web", K_REVISION: "web-1" });
    expect(await found()).toEqual({
      ...ON_GOOGLE,
      "cloud.platform": "gcp_cloud_run",
      "cloud.region": "europe-west1",
      "faas.name": "web",
      "faas.version": "web-1",
      "faas.instance": "9223372036854775807",
    });
    useEnvironment({ GAE_SERVICE: "s", GAE_VERSION: "2", GAE_INSTANCE: "i" });
    expect(await found()).toMatchObject({ "cloud.platform": "gcp_app_engine", "faas.name": "s", "faas.instance": "i" });
  });

  it("gcp trusts no server that does not identify itself as Google's", async () => {
    const server = createServer((_, response) => response.end("captive portal")).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    expect((await detect({ detectors: ["gcp"] }, { google: `http://127.0.0.1:${port}` })).found).toEqual({});
  });

  it("azure and aks ask for the machine", async () => {
    const compute = {
      ...{ name: "vm", vmId: "id", location: "westeurope", subscriptionId: "sub", vmSize: "D2", vmScaleSetName: "" },
      ...{ resourceGroupName: "MC_group_cluster_westeurope", osProfile: { computerName: "computer" } },
    };
    const { url } = await startMetadataServer({ "/metadata/instance/compute": compute });
    expect((await detect({ detectors: ["azure"] }, { linkLocal: url })).found).toEqual({
      "cloud.provider": "azure",
      "cloud.platform": "azure_vm",
      "cloud.region": "westeurope",
      "cloud.account.id": "sub",
      "host.id": "id",
      "host.name": "computer",
      "azure.vm.name": "vm",
      "azure.vm.size": "D2",
      "azure.resourcegroup.name": "MC_group_cluster_westeurope",
    });
    const aks = { detectors: ["aks"], aks: { resource_attributes: { "k8s.cluster.name": { enabled: true } } } };
    expect((await detect(aks, { linkLocal: url })).found).toEqual({});
    useEnvironment({ KUBERNETES_SERVICE_HOST: "10.0.0.1" });
    const onAzure = { "cloud.provider": "azure", "cloud.platform": "azure_aks" };
    expect((await detect(aks, { linkLocal: url })).found).toEqual({ ...onAzure, "k8s.cluster.name": "cluster" });
  });

  it("k8snode asks the cluster for the node, and keeps its name if the cluster refuses", async () => {
    useEnvironment({ K8S_NODE_NAME: "node-1" });
    const { url } = await startMetadataServer({ "/api/v1/nodes/node-1": { metadata: { uid: "u-1" } } });
    const asked = await detect({ detectors: ["k8snode"] }, { kubernetes: url });
    expect(asked.found).toEqual({ "k8s.node.name": "node-1", "k8s.node.uid": "u-1" });
    const refused = await detect({ detectors: ["k8s_api"] });
    expect(refused.found).toEqual({ "k8s.node.name": "node-1" });
    expect(refused.warnings).toHaveLength(1);
  });

  it("heroku and lambda read the environment", async () => {
    useEnvironment({ HEROKU_APP_ID: "app", HEROKU_DYNO_ID: "dyno", HEROKU_APP_NAME: "shop" });
    expect((await detect({ detectors: ["heroku"] })).found).toEqual({
      "cloud.provider": "heroku",
      "heroku.app.id": "app",
      "service.instance.id": "dyno",
      "service.name": "shop",
    });
    useEnvironment({ AWS_LAMBDA_FUNCTION_NAME: "f", AWS_REGION: "eu-west-1", AWS_LAMBDA_LOG_GROUP_NAME: "g" });
    expect((await detect({ detectors: ["lambda", "heroku"] })).found).toEqual({
      "cloud.provider": "aws",
      "cloud.platform": "aws_lambda",
      "cloud.region": "eu-west-1",
      "faas.name": "f",
      "aws.log.group.names": ["g"],
    });
  });

  it("merge in the order of the config, and a missing one does not stop the others", async () => {
    useEnvironment({ OTEL_RESOURCE_ATTRIBUTES: "host.name=env,cloud.region=env", HEROKU_APP_NAME: "shop" });
    const { url } = await startMetadataServer(INSTANCE);
    const endpoints = { linkLocal: url };
    const { found, warnings } = await detect({ detectors: ["gcp", "env", "ec2", "ecs", "heroku"] }, endpoints);
    expect(found).toMatchObject({
      "host.name": "env",
      "cloud.region": "env",
      "host.id": "i-1",
      "service.name": "shop",
    });
    expect(warnings.map(([fields]) => (fields as { detector: string }).detector).sort()).toEqual(["ecs", "gcp"]);
    const other = await detect({ detectors: ["ec2", "env"], attributes: ["host.name"] }, endpoints);
    expect(other.found).toEqual({ "host.name": "ip-10-0-0-1.ec2.internal" });
  });

  it("end at the timeout when a service is silent", async () => {
    useEnvironment({ OTEL_RESOURCE_ATTRIBUTES: "a=1" });
    const { url } = await startMetadataServer({ "/metadata/instance/compute": null });
    const { found, warnings } = await detect({ detectors: ["azure", "env"], timeout: "50ms" }, { linkLocal: url });
    expect(found).toEqual({ a: "1" });
    expect(warnings).toHaveLength(1);
  });

  it("warn about unknown attributes, and about nothing that is turned off", async () => {
    const resource_attributes = { "container.image.tag": { enabled: true }, "container.id": { enabled: false } };
    const { warnings } = await detect({ detectors: ["docker"], docker: { resource_attributes } });
    expect(warnings[0]![0]).toEqual({ detector: "docker", attributes: ["container.image.tag"] });
  });
});

describe("the processor resource_detection", () => {
  const context: ProcessorContext = {
    id: "resource_detection",
    kind: "processor",
    signal: "logs",
    pipeline: "logs",
    logger: silentLogger,
    metrics: noMetrics,
    clock: systemClock,
    random: Math.random,
  };
  const batch = (name: string) => {
    const resource = { attributes: [{ key: "host.name", value: { stringValue: name } }] };
    return batchFromJson(
      "logs",
      JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords: [{ body: { stringValue: name } }] }] }] }),
    );
  };
  const namesIn = (deliveries: readonly { batch: Parameters<typeof readRecords>[0] }[]) =>
    deliveries.map((delivery) => {
      let found: unknown;
      readRecords(delivery.batch, (record) => {
        found = { ...record.resource.attributes.toObject() };
      });
      return found;
    });

  it("holds batches until the detection is complete, in order, and detects once for all pipelines", async () => {
    useEnvironment({ OTEL_RESOURCE_ATTRIBUTES: "host.name=env" });
    const { url, seen } = await startMetadataServer({ "/metadata/instance/compute": { location: "here" } });
    const factory = createResourceDetection({ ...NOWHERE, linkLocal: url });
    const config = factory.schema.parse({ detectors: ["env", "azure"], override: false });
    const [first, second] = [feed(factory.create(config, context)), feed(factory.create(config, context))];
    for (const name of ["a", "b"]) first.source.next(owed(batch(name)).delivery);
    first.source.complete();
    expect(first.out).toHaveLength(0);
    await until(() => expect(first.out).toHaveLength(2));
    const added = { "cloud.provider": "azure", "cloud.platform": "azure_vm", "cloud.region": "here" };
    expect(namesIn(first.out)).toEqual([
      { "host.name": "a", ...added },
      { "host.name": "b", ...added },
    ]);
    second.source.next(owed(batch("c")).delivery);
    expect(namesIn(second.out)).toEqual([{ "host.name": "c", ...added }]);
    expect(seen).toHaveLength(1);
  });

  it("replaces existing attributes of a resource unless configured not to", async () => {
    useEnvironment({ OTEL_RESOURCE_ATTRIBUTES: "host.name=env" });
    const factory = createResourceDetection(NOWHERE);
    const { source, out } = feed(factory.create(factory.schema.parse({}), context));
    source.next(owed(batch("a")).delivery);
    await until(() => expect(out).toHaveLength(1));
    expect(namesIn(out)).toEqual([{ "host.name": "env" }]);
  });

  it("accepts sections of unimplemented detectors, but no unknown names", () => {
    const config = { detectors: ["docker", "process"], process: { resource_attributes: { "process.pid": {} } } };
    expect(schema.safeParse(config).success).toBe(true);
    expect(schema.safeParse({ detectors: ["sytem"] }).success).toBe(false);
    expect(schema.safeParse({ fail_on_missing_metadata: true }).success).toBe(false);
  });
});
