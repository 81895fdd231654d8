import type { Writable } from "node:stream";
import { parentPort } from "node:worker_threads";
import type { SluiceConfig } from "../embed/load.js";
import { createSluice } from "../embed/sluice.js";
import { LineStream } from "./line-stream.js";

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
}

/** The event by which the worker tells how many lines are settled. */
export const SETTLED = "sluice:settled";

const PATIENCE_MS = 30_000;

/** Pino calls this in its worker thread: an embedded Sluice, and the stream that leads into it. */
export async function transport(options: PinoTransportOptions): Promise<Writable> {
  const { baseDirectory, queueDirectory, env, resource = {}, patienceMs = PATIENCE_MS } = options;
  const sluice = await createSluice({ config: configOf(options), baseDirectory, queueDirectory, env });
  await sluice.start();
  const onSettled = (lines: number) => parentPort?.postMessage({ code: "EVENT", name: SETTLED, args: [lines] });
  return new LineStream({ sluice, resource, patienceMs, onSettled });
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
