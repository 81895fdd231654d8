import { isNearby } from "#net/auth";
import type { SmallAnswer } from "#net/sending";
import { type Clock, Refusal } from "../../../plugin.js";
import type { FetchedCredentials } from "../renewed-credentials.js";
import type { AwsCredentials } from "./sign.js";

/** Keys of AWS and how long they last. */
export type FetchedKeys = FetchedCredentials<AwsCredentials>;

/** A file may have been changed by whoever renews its keys: it is read again after this time. */
export const FILE_LIFETIME_MS = 300_000;

/** Undefined unless there are both halves of a key. */
export function keysOf(
  accessKeyId: string | undefined,
  secretAccessKey: string | undefined,
  sessionToken: string | undefined,
  lifetimeMs?: number,
): FetchedKeys | undefined {
  if (!accessKeyId || !secretAccessKey) return undefined;
  const value = { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
  return lifetimeMs === undefined ? { value } : { value, lifetimeMs };
}

/** How long keys last that end at a time of ISO 8601; those that do not say are asked for again after a while. */
export function lifetimeUntil(end: string | undefined, clock: Clock): number {
  const lifetimeMs = end === undefined ? Number.NaN : Date.parse(end) - clock.now();
  return Number.isNaN(lifetimeMs) ? FILE_LIFETIME_MS : Math.max(1000, lifetimeMs);
}

/** Throws a `Refusal` for an answer that gets better by itself. */
export function throwIfTransient({ status }: SmallAnswer, origin: string): void {
  if (status >= 500 || status === 429)
    throw new Refusal("transient", `${origin} answered HTTP ${status}`, { blame: "backend" });
}

/** The queue is held until somebody has seen to it. */
export function noCredentials(message: string): Refusal {
  return new Refusal("permanent", message, { status: "HTTP 401", category: "integration" });
}

/** The URL that a variable names. Throws a `Refusal` unless it is https, this machine, or one of these hosts. */
export function trustedUrl(name: string, text: string, hosts: readonly string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isTrusted =
    url?.protocol === "https:" ||
    (url?.protocol === "http:" && (isNearby(url.hostname.replace(/^\[(.*)\]$/, "$1")) || hosts.includes(url.hostname)));
  if (!isTrusted) throw noCredentials(`${name} is neither https nor an address of this machine`);
  return url;
}
