import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../src/agent/testing/free-port.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";
import { until } from "../support/until.js";
import { hasBrowser, pagesOfTests, takePicture, takesPictures } from "./browser.js";
import { CONSOLE_TOKEN } from "./console-agent.js";

const project = join(import.meta.dirname, "../..");
const hasPrometheus = spawnSync("prometheus", ["--version"]).error === undefined;
if (!hasPrometheus) console.log("skipped: the way from an alert to the replay needs prometheus (Debian: prometheus)");

/** More than what the alert needs, and of two kinds of records: only one of them is refused. */
const BAD = 30;
const GOOD = 60;

interface Alert {
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

describe.skipIf(!hasBrowser || !hasPrometheus)("an operator who is woken by an alert", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-two-minutes-"));
  let backend: OtlpSink;
  let agent: AgentProcess;
  let prometheus: ChildProcess;
  const openPage = pagesOfTests();
  let consoleUrl: string;
  let prometheusUrl: string;

  beforeAll(async () => {
    backend = await startSink();
    const [adminPort, metricsPort, prometheusPort] = [await freePort(), await freePort(), await freePort()];
    consoleUrl = `http://127.0.0.1:${adminPort}`;
    prometheusUrl = `http://127.0.0.1:${prometheusPort}`;
    writeFileSync(join(folder, "prometheus.yml"), prometheusConfig(metricsPort, consoleUrl));
    const yaml = agentConfig(backend.url, folder, { adminPort, metricsPort });
    agent = await startAgentProcess({ yaml });
    prometheus = spawn(
      "prometheus",
      [
        `--config.file=${join(folder, "prometheus.yml")}`,
        `--storage.tsdb.path=${join(folder, "data")}`,
        `--web.listen-address=127.0.0.1:${prometheusPort}`,
      ],
      { stdio: "ignore" },
    );
  });

  afterAll(async () => {
    for (const child of [prometheus, agent?.child]) {
      if (child === undefined || child.exitCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    await backend?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("finds the cause and has everything delivered within two minutes", async () => {
    backend.respond((_, response) => refuse(response));
    for (let n = 0; n < BAD; n++) await sendOrder(agent, n, "refund");
    await until(async () => expect(await metricValue("sluice_dead_letters_entries")).toBe(BAD));
    backend.respond(undefined);
    for (let n = 0; n < GOOD; n++) await sendOrder(agent, BAD + n, "sale");
    const alert = await firedAlert();
    const startedAt = performance.now();

    const link = new URL(alert.annotations["runbook_url"]!);
    expect(link.origin).toBe(consoleUrl);
    const page = await openPage(link.href, CONSOLE_TOKEN);
    await page.locator(`${link.hash} ~ p a[href="/#/failures"]`).first().click();
    await findCause(page, alert);
    await picturePipelines(page);
    await replay(page);
    await until(() => expect(backend.count).toBe(BAD + GOOD + (takesPictures ? 200 : 0)));
    await page.getByRole("navigation").getByRole("link", { name: "Failures" }).click();
    await page.getByText(/No dead letter/).waitFor();
    await until(async () => expect(await metricValue("sluice_dead_letters_entries")).toBe(0));
    const seconds = (performance.now() - startedAt) / 1000;
    console.log(`from the alert to everything delivered: ${seconds.toFixed(1)} s`);
    expect(seconds).toBeLessThan(120);
  });

  /**
   * The content of the group of the alert's exporter: one cause, in the backend's words, and the records that have it.
   */
  async function findCause(page: Page, { labels }: Alert): Promise<void> {
    await page.getByText("refunds need an order.reference").first().waitFor();
    await page.setViewportSize({ width: 1280, height: 440 });
    await takePicture(page, "console-failures");
    await page.getByRole("link", { name: labels["error_class"]! }).click();
    await page
      .getByRole("link", { name: /^[0-9a-f]{16}-\d+$/ })
      .first()
      .click();
    await page.getByText("became a dead letter").waitFor();
    const payload = page.locator(".payload");
    await payload.getByText("refund").first().waitFor();
    expect(await payload.innerText()).not.toContain("@example.com");
  }

  /** As the README shows them: with what passes. */
  async function picturePipelines(page: Page): Promise<void> {
    if (!takesPictures) return;
    await page.setViewportSize({ width: 1280, height: 350 });
    await page.getByRole("navigation").getByRole("link", { name: "Pipelines" }).click();
    for (let n = 0; n < 200; n++) await sendOrder(agent, n, "picture");
    await page.getByText(/\d\/s/).first().waitFor();
    await takePicture(page, "console-pipelines");
  }

  async function replay(page: Page): Promise<void> {
    await page.getByRole("navigation").getByRole("link", { name: "Failures" }).click();
    await page.getByRole("link", { name: "Replay…" }).click();
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByText("would be replayed").waitFor();
    await page.getByRole("button", { name: `Start replay of ${BAD}` }).click();
    await page.getByText("all delivered").waitFor();
    await page.setViewportSize({ width: 1280, height: 560 });
    await takePicture(page, "console-replay");
  }

  async function firedAlert(): Promise<Alert> {
    let found: Alert | undefined;
    await until(async () => {
      const { data } = await ask<{ alerts: readonly Alert[] }>("/api/v1/alerts");
      found = data.alerts.find(({ state, labels }) => state === "firing" && labels["exporter"] === "otlp_http/backend");
      expect(found).toBeDefined();
    });
    return found!;
  }

  async function metricValue(query: string): Promise<number> {
    const { data } = await ask<{ result: readonly { value: [number, string] }[] }>(`/api/v1/query?query=${query}`);
    return Number(data.result[0]?.value[1]);
  }

  async function ask<T>(path: string): Promise<{ data: T }> {
    return (await (await fetch(prometheusUrl + path)).json()) as { data: T };
  }
});

function refuse(response: ServerResponse): void {
  response.writeHead(400, { "content-type": "application/json" });
  response.end(JSON.stringify({ message: "refunds need an order.reference" }));
}

async function sendOrder({ ports }: AgentProcess, number: number, kind: string): Promise<void> {
  const attributes = [
    { key: "order.kind", value: { stringValue: kind } },
    { key: "customer", value: { stringValue: `c${number}@example.com` } },
  ];
  const record = {
    timeUnixNano: "1",
    eventName: `order.${kind}`,
    body: { stringValue: `order ${number}` },
    attributes,
  };
  const response = await fetch(`http://127.0.0.1:${ports.http}/v1/logs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }),
  });
  expect(response.status).toBe(200);
}

function agentConfig(backendUrl: string, folder: string, ports: { adminPort: number; metricsPort: number }): string {
  return `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
processors:
  filter/health: {logs: {log_record: ['attributes["url.path"] == "/health"']}}
  attributes/stage: {actions: [{key: stage, value: production, action: insert}]}
  probabilistic_sampler: {sampling_percentage: 20}
exporters:
  otlp_http/backend: {endpoint: "${backendUrl}"}
  file/archive: {path: ${join(folder, "archive.jsonl")}}
extensions:
  reliability: {directory: ${join(folder, "queue")}}
  admin:
    endpoint: "127.0.0.1:${ports.adminPort}"
    tokens: [{name: console, token: ${CONSOLE_TOKEN}, roles: [view, reveal, replay, purge, configure]}]
service:
  extensions: [reliability, admin]
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: ${ports.metricsPort}}}}}]}}
  pipelines:
    logs: {receivers: [otlp], processors: [filter/health, attributes/stage], exporters: [otlp_http/backend, file/archive]}
    traces: {receivers: [otlp], processors: [probabilistic_sampler], exporters: [otlp_http/backend]}
`;
}

/** The alerts as they are shipped; only Prometheus looks more often than it does by default. */
function prometheusConfig(metricsPort: number, consoleUrl: string): string {
  return JSON.stringify({
    global: { scrape_interval: "1s", evaluation_interval: "1s", external_labels: { sluice_console: consoleUrl } },
    rule_files: [join(project, "packaging/prometheus/alerts.yaml")],
    scrape_configs: [{ job_name: "sluice", static_configs: [{ targets: [`127.0.0.1:${metricsPort}`] }] }],
  });
}
