import { connectionErrorMessage, loadClientTls, parseHostPort } from "#net";
import { PointCollector, type ScrapeMoment, ScrapingReceiver } from "#receiving";
import { defineReceiver } from "../../plugin.js";
import { type RedisConfig, redisSchema } from "./config.js";
import { METRIC_OF_CLUSTER_LINE, METRIC_OF_LINE, REDIS_METRICS } from "./metrics.js";
import { RedisInfoClient } from "./redis-client.js";

/** Metrics about a Redis server, from its INFO command. */
export const redisReceiver = defineReceiver<RedisConfig>({
  type: "redis",
  summary: "Collects metrics of a Redis server, from its INFO command.",
  signals: ["metrics"],
  workers: "one",
  schema: redisSchema,
  create: (config, context) =>
    new RedisReceiver(config, context, {
      table: REDIS_METRICS,
      transport: "redis",
      timeout: config.timeout || DEFAULT_TIMEOUT_MS,
    }),
});

const DEFAULT_TIMEOUT_MS = 30_000;
const CPU_STATES = ["sys", "sys_children", "sys_main_thread", "user", "user_children", "user_main_thread"];
const MODES: ReadonlySet<string> = new Set(["cluster", "sentinel", "standalone"]);
const PERCENTILES: ReadonlySet<string> = new Set(["p50", "p99", "p99.9"]);

type InfoLines = ReadonlyMap<string, string>;

class RedisReceiver extends ScrapingReceiver<RedisConfig, typeof REDIS_METRICS> {
  private client: RedisInfoClient | undefined;

  protected override async open(): Promise<void> {
    const { username, password, tls } = this.config;
    const loaded = tls === undefined || tls.insecure ? undefined : await loadClientTls(tls, ["tls"]);
    this.client = new RedisInfoClient({ address: addressOf(this.config), tls: loaded, username, password });
  }

  protected override async close(): Promise<void> {
    this.client?.close();
  }

  protected override async collect({ now, abort }: ScrapeMoment): Promise<PointCollector[]> {
    const info = linesOf(await this.ask(["INFO", "all"], abort));
    const uptime = numberOf(info.get("uptime_in_seconds"));
    if (uptime === undefined) throw new Error("INFO reports no uptime_in_seconds: the user may lack the permission");
    const points = new PointCollector(now - uptime * 1000, this.resourceOf(info));
    this.addLines(info, METRIC_OF_LINE, points);
    this.addStates(info, points);
    for (const [name, text] of info) this.addList(name, text, points);
    if (info.get("cluster_enabled") === "1" && this.wantsCluster()) {
      const cluster = linesOf(await this.ask(["CLUSTER", "INFO"], abort));
      this.addLines(cluster, METRIC_OF_CLUSTER_LINE, points);
      const cluster_state = cluster.get("cluster_state") === "ok" ? "ok" : "fail";
      this.output.add(points, "redis.cluster.state", 1, { cluster_state });
    }
    return [points];
  }

  private async ask(command: readonly string[], abort: AbortSignal): Promise<string> {
    try {
      return await this.client!.command(command, abort);
    } catch (error) {
      throw new Error(`${this.config.endpoint}: ${connectionErrorMessage(error)}`, { cause: error });
    }
  }

  private wantsCluster(): boolean {
    return ["redis.cluster.state", ...METRIC_OF_CLUSTER_LINE.values()].some((name) => this.output.wants(name));
  }

  private addLines(lines: InfoLines, names: ReadonlyMap<string, string>, points: PointCollector): void {
    for (const [line, name] of names) this.output.add(points, name, numberOf(lines.get(line)));
  }

  private addStates(info: InfoLines, points: PointCollector): void {
    const { output } = this;
    for (const state of CPU_STATES)
      output.add(points, "redis.cpu.time", numberOf(info.get(`used_cpu_${state}`)), { state });
    const channels = (line: string, state: string) =>
      output.add(points, "redis.pubsub.channel.status", numberOf(info.get(line)), {
        "redis.pubsub.channel.state": state,
      });
    channels("pubsub_channels", "active");
    channels("pubsub_shardchannels", "shard");
    const patterns = numberOf(info.get("pubsub_patterns"));
    output.add(points, "redis.pubsub.pattern.status", patterns, { "redis.pubsub.pattern.state": "active" });
    const role = info.get("role");
    if (role !== undefined) output.add(points, "redis.role", 1, { role: role === "master" ? "primary" : "replica" });
    const mode = info.get("redis_mode") ?? "";
    if (MODES.has(mode)) output.add(points, "redis.mode", 1, { mode });
  }

  /** Lines whose value is a list such as `keys=1,expires=0`: databases and commands. */
  private addList(name: string, text: string, points: PointCollector): void {
    const { output } = this;
    const db = /^db(\d+)$/.exec(name)?.[1];
    if (db !== undefined) {
      const values = pairsOf(text);
      output.add(points, "redis.db.keys", values.get("keys"), { db });
      output.add(points, "redis.db.expires", values.get("expires"), { db });
      output.add(points, "redis.db.avg_ttl", values.get("avg_ttl"), { db });
    } else if (name.startsWith("cmdstat_")) {
      const values = pairsOf(text);
      const cmd = name.slice("cmdstat_".length);
      output.add(points, "redis.cmd.calls", values.get("calls"), { cmd });
      output.add(points, "redis.cmd.usec", values.get("usec"), { cmd });
    } else if (name.startsWith("latency_percentiles_usec_") && output.wants("redis.cmd.latency")) {
      const cmd = name.slice("latency_percentiles_usec_".length);
      for (const [percentile, us] of pairsOf(text))
        if (PERCENTILES.has(percentile)) output.add(points, "redis.cmd.latency", us / 1e6, { cmd, percentile });
    }
  }

  private resourceOf(info: InfoLines): Record<string, string> {
    const address = addressOf(this.config);
    const known: Readonly<Record<keyof RedisConfig["resource_attributes"], string>> = {
      "redis.version": info.get("redis_version") ?? "unknown",
      "server.address": "path" in address ? address.path : address.host,
      "server.port": "path" in address ? "" : String(address.port),
    };
    const wanted = Object.entries(known).filter(
      ([name, value]) => value !== "" && this.config.resource_attributes[name as keyof typeof known].enabled,
    );
    return Object.fromEntries(wanted);
  }
}

function addressOf({
  endpoint,
}: RedisConfig): { readonly path: string } | { readonly host: string; readonly port: number } {
  if (endpoint.startsWith("/")) return { path: endpoint };
  const { host = "localhost", port } = parseHostPort(endpoint)!;
  return { host, port };
}

/** A server has a few hundred lines; more than this are left out. */
const MAX_LINES = 10_000;

function linesOf(text: string): InfoLines {
  const lines = new Map<string, string>();
  for (const line of text.split("\r\n", MAX_LINES)) {
    const colon = line.indexOf(":");
    if (colon > 0 && !line.startsWith("#")) lines.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return lines;
}

function pairsOf(text: string): ReadonlyMap<string, number> {
  const pairs = text.split(",", 100).map((pair) => pair.split("=", 2) as [string, string | undefined]);
  return new Map(pairs.map(([name, value]) => [name, numberOf(value) ?? Number.NaN]));
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}
