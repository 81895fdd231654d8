import { type SmallAnswer, sendSmallRequest } from "#net/sending";
import type { Clock, Logger, Value } from "../../plugin.js";
import type { ResourceDetectionConfig } from "./config.js";

/** Attributes of a resource, as far as they are known. */
export type Found = Readonly<Record<string, Value | undefined>>;

/** Where detectors ask. */
export interface Sites {
  /** The metadata service of EC2 and Azure. */
  readonly linkLocal: string;
  readonly google: string;
  readonly dockerSocket: string;
  /** Undefined: that of the cluster which the agent runs in. */
  readonly kubernetes: string | undefined;
}

/** The only addresses that are ever asked. */
export const SITES: Sites = {
  linkLocal: "http://169.254.169.254",
  google: "http://metadata.google.internal",
  dockerSocket: "/var/run/docker.sock",
  kubernetes: undefined,
};

/** What a detector is given. */
export interface Inquiry {
  readonly config: ResourceDetectionConfig;
  readonly sites: Sites;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timeoutMs: number;
  readonly abort: AbortSignal;
}

/** Finds out something of where the agent runs. Rejects when it cannot; then it has found nothing. */
export type Detector = (inquiry: Inquiry) => Promise<Found>;

/** Asks a metadata service, never through a proxy. */
export function askMetadata(
  { clock, timeoutMs, abort }: Inquiry,
  url: URL,
  headers: Readonly<Record<string, string>>,
  method: "GET" | "PUT" = "GET",
): Promise<SmallAnswer> {
  return sendSmallRequest({ method, url, headers, timeoutMs, clock, abort, isDirect: true });
}

/** The body of a good answer; anything else is an error. */
export function textOf(answer: SmallAnswer, url: URL): string {
  if (answer.status !== 200) throw new Error(`${url.origin}${url.pathname} answered HTTP ${answer.status}`);
  return answer.text.trim();
}

/** A text that is one and is not empty. */
export function wordOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** What the work comes to; undefined when it takes longer, or when nobody waits for it any more. Leaves no timer behind. */
export function within<T>(
  ms: number,
  work: Promise<T>,
  { clock, abort }: Pick<Inquiry, "clock" | "abort">,
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
