import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { freePort } from "../../src/agent/testing/free-port.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";
import { project } from "./packed.js";

const read = (path: string) => readFileSync(join(project, path), "utf8");
const isInstalled = (command: string) => spawnSync(command, ["--version"]).error === undefined;
const hasPrometheus = isInstalled("prometheus") && isInstalled("promtool");
if (!hasPrometheus)
  console.warn("skipped: the tests of alerts and dashboards need prometheus and promtool (Debian: prometheus)");

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const rules = (parse(read("packaging/prometheus/alerts.yaml")) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);

describe("packaging/prometheus/alerts.yaml", () => {
  it("leads from every alert to its section of the runbook, and back", () => {
    const sections = [...read("docs/operate/runbook.md").matchAll(/^## (\w+)$/gm)].map((match) => match[1]!);
    const links = rules.map(({ annotations }) => annotations["runbook_url"]);
    const base = '{{ or $externalLabels.sluice_console "http://127.0.0.1:55679" }}';
    expect(links).toEqual(rules.map(({ alert }) => `${base}/docs/runbook.md#${alert.toLowerCase()}`));
    expect([...sections].sort()).toEqual(rules.map(({ alert }) => alert).sort());
  });

  it.skipIf(!hasPrometheus)("is what promtool takes, and does what its own tests say", () => {
    const folder = join(project, "packaging/prometheus");
    execFileSync("promtool", ["check", "rules", "alerts.yaml"], { cwd: folder });
    expect(
      spawnSync("promtool", ["test", "rules", "alerts.test.yaml"], { cwd: folder, encoding: "utf8" }),
    ).toMatchObject({
      status: 0,
    });
  });
});

describe.skipIf(!hasPrometheus)("a Prometheus that scrapes an agent", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-prometheus-"));
  let sinks: OtlpSink[];
  let agent: AgentProcess;
  let prometheus: ChildProcess;
  let url: string;

  beforeAll(async () => {
    const metricsPort = await freePort();
    const prometheusPort = await freePort();
    url = `http://127.0.0.1:${prometheusPort}`;
    sinks = await Promise.all(["well", "picky", "locked", "down"].map(startSink));
    const [well, picky, locked, down] = sinks as [OtlpSink, OtlpSink, OtlpSink, OtlpSink];
    picky.decide(() => 400);
    locked.decide(() => 401);
    down.decide(() => 503);
    agent = await startAgentProcess({ yaml: configFor({ well, picky, locked, down }, metricsPort) });
    writeFileSync(join(folder, "alerts.yaml"), read("packaging/prometheus/alerts.yaml").replace(/^\s+for: .*\n/gm, ""));
    writeFileSync(join(folder, "prometheus.yml"), prometheusConfig(metricsPort));
    prometheus = spawn(
      "prometheus",
      [
        `--config.file=${join(folder, "prometheus.yml")}`,
        `--storage.tsdb.path=${join(folder, "data")}`,
        `--web.listen-address=127.0.0.1:${prometheusPort}`,
      ],
      { stdio: "ignore" },
    );
    await Promise.all(Array.from({ length: 120 }, (_, n) => sendLog(agent, `n${n}`)));
  });

  afterAll(async () => {
    for (const child of [prometheus, agent?.child]) {
      if (child === undefined || child.exitCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    await Promise.all((sinks ?? []).map((sink) => sink.close()));
    rmSync(folder, { recursive: true, force: true });
  });

  it("fires the alerts of backends that are down, refuse everything, or refuse records", async () => {
    await expect
      .poll(firing, { interval: 250 })
      .toEqual(
        expect.arrayContaining([
          "SluiceBackendRefusesEverything otlp_http/locked",
          "SluiceBreakerOpen otlp_http/down",
          "SluiceDeadLetters otlp_http/picky",
          "SluiceOneErrorClass otlp_http/picky",
        ]),
      );
    expect((await firing()).filter((alert) => alert.endsWith("/well"))).toEqual([]);
  });

  it("has data for every query of every dashboard", async () => {
    const queries = queriesOf(JSON.parse(read("packaging/grafana/sluice.json")) as Dashboard);
    expect(queries.length).toBeGreaterThan(20);
    for (const query of queries)
      await expect.poll(() => seriesOf(query), { interval: 250, message: query }).not.toBe(0);
  });

  it("knows every metric that an alert asks for", async () => {
    const expressions = rules.map(({ expr }) => expr).join(" ");
    const names = new Set(expressions.match(/(?:sluice|otelcol)_\w+/g));
    names.delete("sluice_receiver_refused_requests_total"); // its statuses appear with the first refusal
    names.delete("sluice_receiver_lag"); // only receivers of brokers have it
    for (const name of names) await expect.poll(() => seriesOf(name), { interval: 250, message: name }).not.toBe(0);
  });

  async function firing(): Promise<string[]> {
    const response = await fetch(`${url}/api/v1/alerts`).catch(() => undefined);
    const body = (await response?.json()) as
      | { data: { alerts: { labels: Record<string, string>; state: string }[] } }
      | undefined;
    const alerts = body?.data.alerts.filter(({ state }) => state === "firing") ?? [];
    return alerts.map(({ labels }) => `${labels["alertname"]} ${labels["exporter"]}`);
  }

  async function seriesOf(query: string): Promise<number> {
    const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`);
    const body = (await response.json()) as { data?: { result: unknown[] }; error?: string };
    if (body.data === undefined) throw new Error(`${query}: ${body.error}`);
    return body.data.result.length;
  }
});

interface Dashboard {
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
}

/** As Grafana asks them when all of everything is chosen. */
function queriesOf({ panels }: Dashboard): string[] {
  return panels
    .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    .map((expr) => expr.replaceAll("$__rate_interval", "4s").replace(/\$(job|instance|exporter)\b/g, ".*"));
}

function configFor(backends: Readonly<Record<string, OtlpSink>>, metricsPort: number): string {
  const exporter = ({ url }: OtlpSink) =>
    `{endpoint: "${url}", compression: none, circuit_breaker: {failure_threshold: 3}, retry_on_failure: {initial_interval: 100ms}}`;
  const names = Object.keys(backends);
  return `
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:0}}}}
exporters: {${names.map((name) => `otlp_http/${name}: ${exporter(backends[name]!)}`).join(", ")}}
extensions: {reliability: {directory: queue}}
service:
  extensions: [reliability]
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: ${metricsPort}}}}}]}}
  pipelines:
    logs: {receivers: [otlp], exporters: [${names.map((name) => `otlp_http/${name}`).join(", ")}]}
    traces: {receivers: [otlp], exporters: [otlp_http/well]}
    metrics: {receivers: [otlp], exporters: [otlp_http/well]}
`;
}

function prometheusConfig(port: number): string {
  return JSON.stringify({
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: ["alerts.yaml"],
    scrape_configs: [{ job_name: "sluice", static_configs: [{ targets: [`127.0.0.1:${port}`] }] }],
  });
}

async function sendLog({ ports }: AgentProcess, text: string): Promise<void> {
  const body = { resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: text } }] }] }] };
  const response = await fetch(`http://127.0.0.1:${ports.http}/v1/logs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
}
