import { type SmallAnswer, sendSmallRequest } from "#net/sending";
import type { Clock, Logger, Value } from "../../plugin.js";
import type { ResourceDetectionConfig } from "./config.js";

/** Detected resource attributes. Unknown ones are undefined. */
export type DetectedAttributes = Readonly<Record<string, Value | undefined>>;

/** The addresses that detectors ask. */
export interface DetectorEndpoints {
  /** The metadata service of EC2 and Azure. */
  readonly linkLocal: string;
  readonly google: string;
  readonly dockerSocket: string;
  /** Undefined for the API of the cluster that the agent runs in. */
  readonly kubernetes: string | undefined;
}

/** The real addresses; no others are ever asked. */
export const DETECTOR_ENDPOINTS: DetectorEndpoints = {
  linkLocal: "http://169.254.169.254",
  google: "http://metadata.google.internal",
  dockerSocket: "/var/run/docker.sock",
  kubernetes: undefined,
};

/** Everything that a detector needs. */
export interface DetectionContext {
  readonly config: ResourceDetectionConfig;
  readonly endpoints: DetectorEndpoints;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timeoutMs: number;
  readonly abort: AbortSignal;
}

/** Detects attributes of the environment in which the agent runs. A rejection counts as having found nothing. */
export type Detector = (context: DetectionContext) => Promise<DetectedAttributes>;

/** Asks a metadata service, never through a proxy. */
export function askMetadata(
  { clock, timeoutMs, abort }: DetectionContext,
  url: URL,
  headers: Readonly<Record<string, string>>,
  method: "GET" | "PUT" = "GET",
): Promise<SmallAnswer> {
  return sendSmallRequest({ method, url, headers, timeoutMs, clock, abort, isDirect: true });
}

/** Returns the body of an answer with status 200, and throws for any other answer. */
export function textOf(answer: SmallAnswer, url: URL): string {
  if (answer.status !== 200) throw new Error(`${url.origin}${url.pathname} answered HTTP ${answer.status}`);
  return answer.text.trim();
}

/** Returns the result of the work, or undefined if it takes longer or is aborted. Leaves no timer behind. */
export function withTimeout<T>(
  ms: number,
  work: Promise<T>,
  { clock, abort }: Pick<DetectionContext, "clock" | "abort">,
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const end = () => {
      cancel();
      abort.removeEventListener("abort", end);
      resolve(undefined);
    };
    const cancel = clock.after(ms, end);
    abort.addEventListener("abort", end);
    work.then(resolve, reject).finally(end);
    if (abort.aborted) end();
  });
}
