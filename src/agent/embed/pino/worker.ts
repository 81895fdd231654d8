import type { Writable } from "node:stream";
import { parentPort } from "node:worker_threads";
import type { SluiceConfig } from "../load-embedded.js";
import { createSluice } from "../sluice.js";
import { PinoFormat } from "./line-format.js";
import { LineStream } from "./line-stream.js";
import { DEADLINE_MESSAGE, DEFAULT_MAX_BYTES, SETTLED_EVENT, SharedCounts } from "./shared-counts.js";

/**
 * Options of `pino({ transport: { target: "sluice/pino", options } })`. One of config, file and endpoint is required.
 */
export interface PinoTransportOptions {
  /** An object or YAML text, with a logs pipeline that reads from the receiver `app`. */
  readonly config?: SluiceConfig;
  /** Path of the file with the config. */
  readonly file?: string;
  /** Instead of a config: the base URL of an OTLP/HTTP server, such as a running agent. */
  readonly endpoint?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Directory of the queues; each process needs its own. With `endpoint`, there is no queue without it. */
  readonly queueDirectory?: string;
  readonly baseDirectory?: string;
  /** Values for `${env:NAME}` in the config. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly resource?: Readonly<Record<string, unknown>>;
  /** How long lines are retried after a retryable refusal before they are reported as lost; default: 30 seconds. */
  readonly patienceMs?: number;
  /** Limit for unsettled lines, in bytes; lines beyond it are counted and reported as lost. Default: 64 MiB. */
  readonly maxBytes?: number;
}

/** Options that a supervisor adds for its worker. */
interface SupervisedWorkerOptions {
  /** The memory of the supervisor's `SharedCounts`. */
  readonly counts?: SharedArrayBuffer;
}

const DEFAULT_PATIENCE_MS = 30_000;

/** Pino calls this in its worker thread. Starts an embedded Sluice, and returns the stream that feeds it. */
export async function transport(options: PinoTransportOptions & SupervisedWorkerOptions): Promise<Writable> {
  const { baseDirectory, queueDirectory, env, resource = {} } = options;
  const { patienceMs = DEFAULT_PATIENCE_MS, maxBytes = DEFAULT_MAX_BYTES } = options;
  const sluice = await createSluice({ config: configOf(options), baseDirectory, queueDirectory, env });
  await sluice.start();
  const counts = options.counts && new SharedCounts(options.counts);
  counts?.markUp();
  const onSettled = (lines: number, lost: number) => {
    if (counts === undefined) return;
    counts.add(lines, lost);
    parentPort?.postMessage({ code: "EVENT", name: SETTLED_EVENT, args: [] });
  };
  const pinoFormat = new PinoFormat();
  const format = () => pinoFormat.resolved();
  const stream = new LineStream({ sluice, resource, patienceMs, maxBytes, format, onSettled });
  // Attach the listener last, and await nothing until pino listens too: messages that arrive before any listener are
  // delivered to the first one.
  parentPort?.on("message", (message: { code?: unknown; ms?: unknown }) => {
    pinoFormat.onMessage(message);
    if (message?.code === DEADLINE_MESSAGE) stream.setDeadline(Number(message.ms));
  });
  return stream;
}

function configOf({ config, file, endpoint, headers = {}, queueDirectory }: PinoTransportOptions): SluiceConfig {
  if (config !== undefined) return config;
  if (file !== undefined) return { file };
  if (endpoint === undefined) throw new TypeError("sluice/pino needs one of the options config, file and endpoint");
  const isQueued = queueDirectory !== undefined;
  const reliability = isQueued ? {} : { sending_queue: { enabled: false }, retry_on_failure: { enabled: false } };
  return {
    exporters: { otlp_http: { endpoint, headers, ...reliability } },
    service: { pipelines: { logs: { receivers: ["app"], exporters: ["otlp_http"] } } },
  };
}
