/** An agent between clients and a backend, impatient in everything, so that a second holds many retries. */
export interface AgentShape {
  readonly backend: string;
  /** Where the queue is; without, clients wait for the export. */
  readonly queue?: string;
  readonly durability?: "fsync" | "interval" | "process";
  /** False: no batch is configured, so only what waits is merged. */
  readonly batch?: boolean;
  /** Keys of the otlp receiver beside `protocols`. */
  readonly receiver?: object;
  /** More keys of the exporter. */
  readonly exporter?: object;
}

/** The same without a queue, behind a journal that is kept here. */
export function journalConfig(shape: AgentShape, journal: string): object {
  const { queue: _, ...rest } = shape;
  const config = agentConfig(rest) as { extensions: object; service: { pipelines: { logs: object } } };
  const logs = { ...config.service.pipelines.logs, intake: { durable: "on" } };
  return {
    ...config,
    extensions: { ...config.extensions, reliability: { directory: journal } },
    service: { ...config.service, extensions: ["health_check", "reliability"], pipelines: { logs } },
  };
}

/**
 * The processors between the receiver and the exporter of a pipeline of traces, and how long they wait for the spans of
 * a trace.
 */
export interface TraceShape extends AgentShape {
  readonly sampling: object;
}

/** The same with a pipeline of traces that is sampled. Its journal is where the queue is, also if exporters have none. */
export function traceConfig({ sampling, ...shape }: TraceShape, journal: string): object {
  const config = agentConfig(shape) as { extensions: object; service: object };
  return {
    ...config,
    extensions: { ...config.extensions, reliability: { directory: journal } },
    processors: { tail_sampling: sampling },
    service: {
      ...config.service,
      extensions: ["health_check", "reliability"],
      pipelines: { traces: { receivers: ["otlp"], processors: ["tail_sampling"], exporters: ["otlphttp"] } },
    },
  };
}

export function agentConfig(shape: AgentShape): object {
  const { backend, queue, durability = "fsync", batch = true, receiver, exporter } = shape;
  const reliability = queue === undefined ? {} : { reliability: { directory: queue } };
  return {
    extensions: { health_check: { endpoint: "127.0.0.1:0" }, ...reliability },
    receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:0" } }, ...receiver } },
    processors: batch ? { batch: { timeout: "2ms", send_batch_size: 40 } } : {},
    exporters: {
      otlphttp: {
        endpoint: backend,
        compression: "none",
        timeout: "200ms",
        ...(queue === undefined ? { sending_queue: { enabled: false } } : QUEUED),
        ...(queue === undefined ? {} : { durability }),
        ...exporter,
      },
    },
    service: {
      extensions: ["health_check", ...Object.keys(reliability)],
      shutdown_timeout: "1s",
      telemetry: { metrics: { level: "none" } },
      pipelines: { logs: { receivers: ["otlp"], processors: batch ? ["batch"] : [], exporters: ["otlphttp"] } },
    },
  };
}

const QUEUED = {
  sending_queue: { num_consumers: 4 },
  retry_on_failure: {
    initial_interval: "10ms",
    max_interval: "50ms",
    max_retries: 100_000,
    rate_limit: { per_second: 10_000, burst: 1000 },
  },
  circuit_breaker: { reset_timeout: "50ms", success_threshold: 1 },
  replay: { ramp: "100ms" },
};
