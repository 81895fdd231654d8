import { z } from "zod";
import type { Clock } from "#contract";
import { Refusal } from "#contract/errors";
import { section } from "#contract/schema";
import { isLocalHost } from "../auth/authorized-send.js";
import type { FetchedCredentials } from "../auth/renewed-credentials.js";
import type { SmallAnswer } from "../sending/small-request.js";
import type { AwsCredentials } from "./sign.js";

/** AWS keys with their lifetime. */
export type FetchedKeys = FetchedCredentials<AwsCredentials>;

/** A credentials file is read again after this time, because something else may have renewed its keys. */
export const FILE_LIFETIME_MS = 300_000;

/** Returns undefined unless both halves of a key exist. */
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

/** Returns the lifetime of keys that end at an ISO 8601 time. Keys without an end are fetched again after a while. */
export function lifetimeUntil(end: string | undefined, clock: Clock): number {
  const lifetimeMs = end === undefined ? Number.NaN : Date.parse(end) - clock.now();
  return Number.isNaN(lifetimeMs) ? FILE_LIFETIME_MS : Math.max(1000, lifetimeMs);
}

/** Throws a `Refusal` for a failure that may resolve itself. */
export function throwIfTransient({ status }: SmallAnswer, origin: string): void {
  if (status >= 500 || status === 429)
    throw new Refusal("transient", `${origin} answered HTTP ${status}`, { blame: "backend" });
}

/** Holds the queue until a person has fixed the problem. */
export function noCredentials(message: string): Refusal {
  return new Refusal("permanent", message, { status: "HTTP 401", category: "integration" });
}

/** Returns the URL in a variable. Throws a `Refusal` unless it is https, this machine, or one of these hosts. */
export function trustedUrl(name: string, text: string, hosts: readonly string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isTrusted =
    url?.protocol === "https:" ||
    (url?.protocol === "http:" &&
      (isLocalHost(url.hostname.replace(/^\[(.*)\]$/, "$1")) || hosts.includes(url.hostname)));
  if (!isTrusted) throw noCredentials(`${name} is neither https nor an address of this machine`);
  return url;
}

/** The keys of a role to assume. */
export const awsRoleKeys = {
  arn: z.string().default("").meta({ description: "The role to assume. Default: none." }),
  sts_region: z
    .string()
    .default("")
    .meta({ description: "The region of the STS request for the role's keys. Default: region, or AWS_REGION." }),
};

/** The key `assume_role` of components that sign requests for AWS. */
export function assumeRoleSection() {
  return section(
    z.strictObject({
      ...awsRoleKeys,
      session_name: z.string().optional().meta({ description: "The session name in the logs of AWS." }),
    }),
  )
    .optional()
    .meta({ description: "A role that the agent's own keys may assume, with which it signs." });
}
