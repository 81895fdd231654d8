import type { Dice } from "../../support/telemetry/wire-forms.js";

/** Where records come in, and the exporters (by number) that all of them must come to. */
export interface Source {
  readonly id: string;
  readonly signal: "logs" | "traces";
  /** Without, clients wait for the queues of the exporters. */
  readonly hasJournal: boolean;
  readonly exporters: readonly number[];
  /** A second journal stands between the first one and the exporters. */
  readonly isChained: boolean;
}

/** An agent with several stores on one disk. */
export interface SmallDiskShape {
  readonly mebibytes: number;
  readonly exporters: readonly number[];
  readonly journals: number;
  readonly sources: readonly Source[];
  readonly maxRecordBytes: number;
}

/** Three to nine stores on 30 to 300 MiB. */
export function randomShape(dice: Dice): SmallDiskShape {
  const stores = 3 + dice.upTo(6);
  const journals = 1 + dice.upTo(stores - 2);
  const mebibytes = 30 + dice.upTo(270);
  return shapeOf(mebibytes, stores - journals, journals, dice);
}

export function shapeOf(mebibytes: number, exporters: number, journals: number, dice: Dice): SmallDiskShape {
  const sources: Source[] = [];
  let left = journals;
  const all = Array.from({ length: exporters }, (_, i) => i);
  for (let n = 0; left > 0; n++) {
    const signal = dice.upTo(1) === 0 ? "logs" : "traces";
    const isChained = signal === "logs" && left > 1 && dice.upTo(2) === 0;
    left -= isChained ? 2 : 1;
    const some = all.filter((i) => i % journals === n || dice.upTo(3) === 0);
    const chosen = some.length === 0 ? [dice.upTo(exporters - 1)] : some;
    sources.push({ id: `s${n}`, signal, hasJournal: true, isChained, exporters: chosen });
  }
  const used = new Set(sources.flatMap((source) => source.exporters));
  const unused = all.filter((i) => !used.has(i));
  if (unused.length > 0 || dice.upTo(1) === 0) {
    const direct = unused.length > 0 ? unused : [dice.upTo(exporters - 1)];
    sources.push({ id: "direct", signal: "logs", hasJournal: false, isChained: false, exporters: direct });
  }
  return { mebibytes, exporters: all, journals, sources, maxRecordBytes: 20_000 + dice.upTo(180_000) };
}

export function smallDiskConfig(shape: SmallDiskShape, backends: readonly string[], directory: string): object {
  const pipelines = Object.assign({}, ...shape.sources.map(pipelinesOf));
  const chained = shape.sources.filter(({ isChained }) => isChained);
  return {
    extensions: { health_check: { endpoint: "127.0.0.1:0" }, reliability: { directory } },
    receivers: Object.fromEntries(
      shape.sources.map(({ id }) => [`otlp/${id}`, { protocols: { http: { endpoint: "127.0.0.1:0" } } }]),
    ),
    processors: {
      tail_sampling: { decision_wait: "300ms", policies: [{ name: "all", type: "always_sample" }] },
    },
    connectors: Object.fromEntries(chained.map(({ id }) => [`forward/${id}`, {}])),
    exporters: Object.fromEntries(backends.map((endpoint, i) => [`otlphttp/${i}`, exporterOf(endpoint)])),
    service: {
      extensions: ["health_check", "reliability"],
      telemetry: { metrics: { level: "none" } },
      pipelines,
    },
  };
}

function pipelinesOf({ id, signal, hasJournal, isChained, exporters }: Source): object {
  const to = exporters.map((i) => `otlphttp/${i}`);
  const receivers = [`otlp/${id}`];
  if (signal === "traces") return { [`traces/${id}`]: { receivers, processors: ["tail_sampling"], exporters: to } };
  if (!hasJournal) return { [`logs/${id}`]: { receivers, exporters: to } };
  const intake = { durable: "on" };
  if (!isChained) return { [`logs/${id}`]: { receivers, intake, exporters: to } };
  return {
    [`logs/${id}`]: { receivers, intake, exporters: [`forward/${id}`] },
    [`logs/${id}-2`]: { receivers: [`forward/${id}`], intake, exporters: to },
  };
}

function exporterOf(endpoint: string): object {
  return {
    endpoint,
    compression: "none",
    timeout: "2s",
    retry_on_failure: { initial_interval: "10ms", max_interval: "200ms", max_retries: 100_000 },
    circuit_breaker: { reset_timeout: "200ms", success_threshold: 1 },
    replay: { ramp: "100ms" },
  };
}
