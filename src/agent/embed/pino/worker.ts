import type { Writable } from "node:stream";
import { parentPort } from "node:worker_threads";
import type { SluiceConfig } from "../load-embedded.js";
import { createSluice } from "../sluice.js";
import { PinoFormat } from "./line-format.js";
import { LineStream } from "./line-stream.js";
import { SharedCounts } from "./shared-counts.js";

/** What `pino({ transport: { target: "sluice/pino", options } })` takes. One of config, file and endpoint is needed. */
export interface PinoTransportOptions {
  /** An object or YAML text, with a logs pipeline that reads from the receiver `app`. */
  readonly config?: SluiceConfig;
  /** The file it is in. */
  readonly file?: string;
  /** Instead of a config: the base URL of an OTLP/HTTP server, such as a running agent. */
  readonly endpoint?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Where queues are kept; no two may share it. With an endpoint: without it there is no queue. */
  readonly queueDirectory?: string;
  readonly baseDirectory?: string;
  /** What `${env:NAME}` of the config stands for. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly resource?: Readonly<Record<string, unknown>>;
  /** How long lines that are refused retryably are offered again before they are reported as lost; 30 seconds. */
  readonly patienceMs?: number;
  /** Bytes of lines that may be unsettled; what comes beyond is counted and reported as lost. 64 MiB. */
  readonly maxBytes?: number;
}

/** What a supervisor adds to the options of its worker. */
interface SupervisedWorkerOptions {
  /** The memory of its `SharedCounts`. */
  readonly counts?: SharedArrayBuffer;
}

/** The event by which the worker tells that it has counted lines. */
export const SETTLED_EVENT = "sluice:settled";
/** The message by which the worker is told how many milliseconds are left. */
export const DEADLINE_MESSAGE = "sluice:hurry";

const DEFAULT_PATIENCE_MS = 30_000;
export const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;

/** Pino calls this in its worker thread: an embedded Sluice, and the stream that leads into it. */
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
  // Last, with nothing to wait for until pino listens too: what comes before somebody listens waits for the first who does.
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
