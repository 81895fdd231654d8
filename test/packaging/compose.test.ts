import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { startAgentProcess } from "../support/agent-process.js";
import { project } from "./packed.js";

interface Service {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly ports: readonly string[];
  readonly volumes: readonly string[];
  readonly depends_on?: readonly string[];
}

const packaging = join(project, "packaging");
const compose = parse(readFileSync(join(packaging, "compose.yaml"), "utf8")) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, null>>;
};
const services = Object.entries(compose.services);
const hasPromtool = spawnSync("promtool", ["--version"]).error === undefined;
if (!hasPromtool)
  console.log("skipped: the config of the composed Prometheus is checked by promtool (Debian: prometheus)");

/** `./compose/a.yaml:/etc/a.yaml:ro` */
const mounts = services.flatMap(([service, { volumes }]) =>
  volumes.map((text) => {
    const [source = "", target = "", mode] = text.split(":");
    return { service, source, target, mode };
  }),
);
const files = mounts.filter(({ source }) => source.startsWith("."));

const root = mkdtempSync(join(tmpdir(), "sluice-compose-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Copies a service's mounted files below a temporary folder, and returns the place of a path of its container there. */
function containerPath(service: string, path: string): string {
  for (const { source, target } of files.filter((mount) => mount.service === service)) {
    mkdirSync(dirname(join(root, service, target)), { recursive: true });
    cpSync(join(packaging, source), join(root, service, target), { recursive: true });
  }
  return join(root, service, path);
}

// No container is run here: that needs a container runtime and a registry. What the files say is tried.
describe("packaging/compose.yaml", () => {
  it("mounts files that are there, read-only, and volumes that it declares", () => {
    expect(files.filter(({ source, mode }) => !existsSync(join(packaging, source)) || mode !== "ro")).toEqual([]);
    const named = mounts.filter(({ source }) => !source.startsWith(".")).map(({ source }) => source);
    expect(named.sort()).toEqual(Object.keys(compose.volumes).sort());
  });

  it("builds the agent from the Dockerfile, and names the versions of the others", () => {
    const { build } = compose.services["sluice"]!;
    expect(existsSync(join(packaging, build!.context, build!.dockerfile))).toBe(true);
    const images = services.flatMap(([, { image }]) => image ?? []);
    expect(images.filter((image) => !/:v?\d+\.\d+\.\d+$/.test(image))).toEqual([]);
  });

  it("opens ports for this machine alone, and starts nothing before what it needs", () => {
    expect(services.flatMap(([, { ports }]) => ports).filter((port) => !port.startsWith("127.0.0.1:"))).toEqual([]);
    const needed = services.flatMap(([, service]) => service.depends_on ?? []);
    expect(needed.filter((name) => !(name in compose.services))).toEqual([]);
  });

  it("runs an agent whose metrics Prometheus finds, and whose console is at the port that is led there", async () => {
    const { command = [], ports } = compose.services["sluice"]!;
    const configs = command.filter((word) => word.startsWith("/"));
    expect(configs).toEqual(["/etc/sluice/sluice.yaml", "/etc/sluice/compose.yaml"]);
    const printed = execFileSync(
      process.execPath,
      [
        join(project, "bin/sluice.js"),
        "print-config",
        "--json",
        ...["--config", join(packaging, "sluice.yaml"), "--config", containerPath("sluice", configs[1]!)],
      ],
      { encoding: "utf8" },
    );
    const config = JSON.parse(printed) as {
      extensions: { admin: { endpoint: string } };
      service: { telemetry: { metrics: { readers: [{ pull: { exporter: { prometheus: { port: number } } } }] } } };
    };
    const { port } = config.service.telemetry.metrics.readers[0].pull.exporter.prometheus;
    const scraped = parse(readFileSync(containerPath("prometheus", "/etc/prometheus/prometheus.yml"), "utf8")) as {
      scrape_configs: [{ static_configs: [{ targets: string[] }] }];
    };
    expect(scraped.scrape_configs[0].static_configs[0].targets).toEqual([`sluice:${port}`]);
    const adminPort = config.extensions.admin.endpoint.split(":")[1];
    expect(ports).toContain(`127.0.0.1:${adminPort}:${adminPort}`);
  });

  it("has a config that starts", async () => {
    const sets = [
      "receivers.otlp.protocols.http.endpoint=127.0.0.1:0",
      "receivers.otlp.protocols.grpc.endpoint=127.0.0.1:0",
      "extensions.admin.endpoint=127.0.0.1:0",
      "extensions.health_check.endpoint=127.0.0.1:0",
      "service.telemetry.metrics.level=none",
    ];
    const args = [
      ...["--config", containerPath("sluice", "/etc/sluice/compose.yaml")],
      ...sets.flatMap((set) => ["--set", set]),
    ];
    const agent = await startAgentProcess({ file: join(packaging, "sluice.yaml") }, { args });
    agent.child.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
  });

  it.skipIf(!hasPromtool)("gives Prometheus a config with rules that it takes", () => {
    const config = containerPath("prometheus", "/etc/prometheus/prometheus.yml");
    const checked = spawnSync("promtool", ["check", "config", config], { encoding: "utf8" });
    expect(checked).toMatchObject({ status: 0, stdout: expect.stringContaining("rule") });
  });

  it("gives Grafana a data source that is a service, and the dashboards", () => {
    const provisioning = "/etc/grafana/provisioning";
    const { datasources } = parse(
      readFileSync(containerPath("grafana", `${provisioning}/datasources/sluice.yaml`), "utf8"),
    ) as { datasources: [{ url: string }] };
    const { hostname, port } = new URL(datasources[0].url);
    expect(compose.services[hostname]!.ports).toContain(`127.0.0.1:${port}:${port}`);
    const { providers } = parse(
      readFileSync(containerPath("grafana", `${provisioning}/dashboards/sluice.yaml`), "utf8"),
    ) as { providers: [{ options: { path: string } }] };
    expect(readdirSync(containerPath("grafana", providers[0].options.path))).toContain("sluice.json");
  });
});
