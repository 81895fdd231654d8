import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { until } from "../until.js";

const isInstalled = (command: string) => spawnSync(command, ["--version"]).error === undefined;

/** Whether this machine has a Prometheus; says so when it has not. */
export function hasPrometheus(): boolean {
  const found = isInstalled("prometheus") && isInstalled("promtool");
  if (!found) console.warn("skipped: these tests need prometheus and promtool (Debian: prometheus)");
  return found;
}

/** A real Prometheus with an empty store. */
export class TestPrometheus {
  readonly url: string;
  private readonly process: ChildProcess;

  private constructor(url: string, process: ChildProcess) {
    this.url = url;
    this.process = process;
  }

  /** `targets` are scraped five times a second. Ends with the test. */
  static start(targets: readonly string[], ...flags: string[]): Promise<TestPrometheus> {
    return TestPrometheus.startScraping(200, targets, ...flags);
  }

  /** The same with another time between scrapes, which is also what each may take. */
  static async startScraping(
    scrapeMs: number,
    targets: readonly string[],
    ...flags: string[]
  ): Promise<TestPrometheus> {
    return TestPrometheus.startWith(scraping(scrapeMs, targets), flags);
  }

  /** Scrapes `targets` and writes their samples to this URL. */
  static startWriting(targets: readonly string[], url: string): Promise<TestPrometheus> {
    return TestPrometheus.startWith({ ...scraping(200, targets), remote_write: [{ url }] }, []);
  }

  private static async startWith(config: object, flags: readonly string[]): Promise<TestPrometheus> {
    const folder = await mkdtemp(join(tmpdir(), "sluice-prometheus-"));
    const port = await freePort();
    await writeFile(join(folder, "prometheus.yml"), JSON.stringify(config));
    const listen = `--web.listen-address=127.0.0.1:${port}`;
    const args = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`, listen, ...flags];
    const child = spawn("prometheus", args, { stdio: "ignore" });
    onTestFinished(async () => {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      await rm(folder, { recursive: true, force: true });
    });
    const prometheus = new TestPrometheus(`http://127.0.0.1:${port}`, child);
    await until(() => prometheus.checkReady());
    return prometheus;
  }

  /** The answer to a query: values by the text of their labels, without those of the scrape. */
  async query(expression: string, time?: number): Promise<Record<string, string>> {
    const parameters = new URLSearchParams({ query: expression, ...(time !== undefined && { time: String(time) }) });
    const response = await fetch(`${this.url}/api/v1/query?${parameters}`);
    const { data } = (await response.json()) as { data: { result: { metric: object; value: [number, string] }[] } };
    return Object.fromEntries(data.result.map(({ metric, value }) => [JSON.stringify(metric), value[1]]));
  }

  private async checkReady(): Promise<void> {
    const { ok } = await fetch(`${this.url}/-/ready`);
    if (!ok) throw new Error(`prometheus is not ready (${this.process.exitCode ?? "running"})`);
  }
}

function scraping(scrapeMs: number, targets: readonly string[]): object {
  return {
    global: { scrape_interval: `${scrapeMs}ms`, scrape_timeout: `${scrapeMs}ms` },
    scrape_configs: [{ job_name: "sluice", honor_labels: true, static_configs: [{ targets }] }],
  };
}
