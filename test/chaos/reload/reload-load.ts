import { createServer, Agent as HttpAgent, request } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * Takes what the exporters send, as OTLP/JSON: how often each record arrived at exporter \`a\`, by epoch. An epoch
 * begins with each kill of the agent, which may double what was under way.
 */
export class ReloadBackend {
  readonly seen = new Map<string, Map<number, number>>();
  /** The largest count of each series, by its start: a series starts anew when the state of its processor is lost. */
  private readonly counts = new Map<string, Map<string, number>>();
  epoch = 0;
  isDown = false;
  readonly port: number;
  private readonly close_: () => Promise<void>;

  private constructor(port: number, close: () => Promise<void>) {
    this.port = port;
    this.close_ = close;
  }

  static async start(): Promise<ReloadBackend> {
    let backend!: ReloadBackend;
    const server = createServer((incoming, answer) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => {
        if (backend.isDown) return void answer.writeHead(503).end();
        backend.take(incoming.url!, Buffer.concat(chunks).toString());
        answer.writeHead(200, { "content-type": "application/json" }).end("{}");
      });
    });
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    const close = () =>
      new Promise<void>((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      });
    backend = new ReloadBackend((server.address() as AddressInfo).port, close);
    return backend;
  }

  close(): Promise<void> {
    return this.close_();
  }

  /** Records that came more than once in one epoch: nothing explains these. */
  get doubled(): string[] {
    return [...this.seen].filter(([, epochs]) => [...epochs.values()].some((times) => times > 1)).map(([id]) => id);
  }

  /** How many spans the metrics say there were. */
  get calls(): number {
    return [...this.counts.values()].flatMap((starts) => [...starts.values()]).reduce((sum, count) => sum + count, 0);
  }

  /** How often the series that started most often did. */
  get starts(): number {
    return Math.max(0, ...[...this.counts.values()].map(({ size }) => size));
  }

  private take(url: string, text: string): void {
    if (url.startsWith("/a/"))
      for (const [id] of text.matchAll(/(?:log|span)-\d+-\d+/g)) {
        const epochs = this.seen.get(id) ?? new Map<number, number>();
        epochs.set(this.epoch, (epochs.get(this.epoch) ?? 0) + 1);
        this.seen.set(id, epochs);
      }
    else if (url.startsWith("/m/")) noteCalls(JSON.parse(text) as MetricsRequest, this.counts);
  }
}

interface Point {
  readonly asInt?: string;
  readonly startTimeUnixNano: string;
  readonly attributes: readonly object[];
}

interface MetricsRequest {
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly {
      readonly metrics: readonly { readonly name: string; readonly sum?: { readonly dataPoints: readonly Point[] } }[];
    }[];
  }[];
}

/** Adds the points of calls to what is known: by series, the largest count since each start. */
function noteCalls({ resourceMetrics = [] }: MetricsRequest, counts: Map<string, Map<string, number>>): void {
  const metrics = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  const points = metrics.filter(({ name }) => name.endsWith("calls")).flatMap(({ sum }) => sum?.dataPoints ?? []);
  for (const { asInt = "0", startTimeUnixNano: start, attributes } of points) {
    const series = JSON.stringify(attributes);
    const starts = counts.get(series) ?? new Map<string, number>();
    counts.set(series, starts.set(start, Math.max(starts.get(start) ?? 0, Number(asInt))));
  }
}

/** Clients that send one record after the other over kept connections, as SDKs do. */
export class ReloadClients {
  readonly acknowledged = new Set<string>();
  /** Connections that were refused or reset while the agent ran. */
  readonly broken: string[] = [];
  answered = 0;
  refused = 0;
  /** True while the agent is killed and started again. */
  isAgentGone = false;
  /** True while no more requests are sent. */
  isPaused = false;
  private underWay = 0;
  private isStopped = false;
  private readonly loops: Promise<void>[];

  constructor(port: number, logs: number, traces: number) {
    const kinds = [...Array<"log">(logs).fill("log"), ...Array<"span">(traces).fill("span")];
    this.loops = kinds.map((kind, client) => this.run(port, kind, client));
  }

  get acknowledgedSpans(): number {
    return [...this.acknowledged].filter((id) => id.startsWith("span")).length;
  }

  get isAtRest(): boolean {
    return this.isPaused && this.underWay === 0;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.loops);
  }

  private async run(port: number, kind: "log" | "span", client: number): Promise<void> {
    const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 });
    for (let i = 0; !this.isStopped; i++) {
      const id = `${kind}-${client}-${i}`;
      while (this.isPaused && !this.isStopped) await new Promise((resolve) => setTimeout(resolve, 20));
      const wasGone = this.isAgentGone;
      this.underWay += 1;
      try {
        const status = await post(port, agent, kind, id, client, i);
        this.answered += 1;
        if (status === 200) this.acknowledged.add(id);
        else this.refused += 1;
      } catch (error) {
        if (!wasGone && !this.isAgentGone) this.broken.push(`${id}: ${(error as Error).message}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      } finally {
        this.underWay -= 1;
      }
    }
    agent.destroy();
  }
}

function post(
  port: number,
  agent: HttpAgent,
  kind: "log" | "span",
  id: string,
  client: number,
  i: number,
): Promise<number> {
  const traceId = (client * 2 ** 32 + i + 1).toString(16).padStart(32, "0");
  // All spans have the same name, so that they are counted in the same series.
  const times = { startTimeUnixNano: "1", endTimeUnixNano: "2" };
  const attributes = [{ key: "id", value: { stringValue: id } }];
  const span = { traceId, spanId: traceId.slice(16), name: "work", ...times, attributes };
  const body = JSON.stringify(
    kind === "log"
      ? { resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: id } }] }] }] }
      : { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] },
  );
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const path = kind === "log" ? "/v1/logs" : "/v1/traces";
  return new Promise((answered, failed) => {
    const sending = request({ port, agent, method: "POST", host: "127.0.0.1", path, headers }, (response) => {
      response.resume();
      response.on("end", () => answered(response.statusCode!));
      response.on("error", failed);
    });
    sending.on("error", failed);
    sending.end(body);
  });
}
