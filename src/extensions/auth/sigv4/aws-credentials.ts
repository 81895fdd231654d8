import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Clock, Refusal } from "../../../plugin.js";
import { environmentVariable, isNearby } from "../../../runtime/kit.js";
import type { FetchedCredentials } from "../renewed-credentials.js";
import { sendSmallRequest } from "../small-request.js";
import type { AwsCredentials } from "./sign.js";

type Fetched = FetchedCredentials<AwsCredentials>;

/** A file may have been changed by whoever renews its keys: it is read again after this time. */
const FILE_LIFETIME_MS = 300_000;
const CONTAINER_TIMEOUT_MS = 5000;
const CONTAINER_ORIGIN = "http://169.254.170.2";
/** Where containers are told to ask on EKS. */
const CONTAINER_HOSTS: readonly string[] = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];

/**
 * The keys of AWS, from the first of these that has any: the environment, the shared credentials file, and the endpoint that
 * a container of ECS or EKS is told of. Rejects with a `Refusal` that holds the queue when there are none.
 */
export async function findAwsCredentials(clock: Clock): Promise<Fetched> {
  const found = fromEnvironment() ?? (await fromFile()) ?? (await fromContainer(clock));
  if (found !== undefined) return found;
  throw noCredentials(
    "neither the environment, nor the shared credentials file, nor a container endpoint has AWS keys",
  );
}

function fromEnvironment(): Fetched | undefined {
  return keysOf(
    environmentVariable("AWS_ACCESS_KEY_ID"),
    environmentVariable("AWS_SECRET_ACCESS_KEY"),
    environmentVariable("AWS_SESSION_TOKEN"),
  );
}

async function fromFile(): Promise<Fetched | undefined> {
  const path = environmentVariable("AWS_SHARED_CREDENTIALS_FILE") ?? join(homedir(), ".aws", "credentials");
  const text = await readFile(path, "utf8").catch(() => "");
  const profile = profileIn(text, environmentVariable("AWS_PROFILE") ?? "default");
  const { aws_access_key_id: id, aws_secret_access_key: secret, aws_session_token: token } = profile;
  return keysOf(id, secret, token, FILE_LIFETIME_MS);
}

function profileIn(text: string, name: string): Partial<Record<string, string>> {
  const keys: Record<string, string> = {};
  let isWanted = false;
  for (const line of text.split(/\r?\n/)) {
    const section = /^\s*\[\s*(?:profile\s+)?(.+?)\s*\]/.exec(line)?.[1];
    if (section !== undefined) isWanted = section === name;
    const [, key, value] = (isWanted && /^\s*([\w]+)\s*=\s*(.*?)\s*$/.exec(line)) || [];
    if (key !== undefined) keys[key.toLowerCase()] = value!;
  }
  return keys;
}

async function fromContainer(clock: Clock): Promise<Fetched | undefined> {
  const url = containerUrl();
  if (url === undefined) return undefined;
  const headers = await containerHeaders();
  const { status, json } = await sendSmallRequest({
    ...{ method: "GET", url, headers, timeoutMs: CONTAINER_TIMEOUT_MS, clock, isDirect: true },
  });
  if (status >= 500 || status === 429) throw new Refusal("transient", `${url.origin} answered HTTP ${status}`);
  const { AccessKeyId: id, SecretAccessKey: secret, Token: token, Expiration: end } = json;
  const lifetimeMs = typeof end === "string" ? Date.parse(end) - clock.now() : Number.NaN;
  const lifetime = Number.isNaN(lifetimeMs) ? FILE_LIFETIME_MS : Math.max(1000, lifetimeMs);
  const found = status === 200 ? keysOf(textOf(id), textOf(secret), textOf(token), lifetime) : undefined;
  if (found === undefined) throw noCredentials(`${url.origin} answered HTTP ${status} without AWS keys`);
  return found;
}

/** A variable must not lead the container's token to just anybody: it is TLS, this machine, or the addresses of AWS. */
function containerUrl(): URL | undefined {
  const relative = environmentVariable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (relative !== undefined) return new URL(relative, CONTAINER_ORIGIN);
  const full = environmentVariable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (full === undefined) return undefined;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  const isTrusted =
    url?.protocol === "https:" ||
    (url?.protocol === "http:" && (isNearby(url.hostname) || CONTAINER_HOSTS.includes(url.hostname)));
  if (!isTrusted)
    throw noCredentials("AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor an address of this machine");
  return url;
}

async function containerHeaders(): Promise<Record<string, string>> {
  const file = environmentVariable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  const read = file === undefined ? undefined : await readFile(file, "utf8").catch(() => undefined);
  const token = read?.trim() ?? environmentVariable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  return token === undefined ? {} : { Authorization: token };
}

function keysOf(
  accessKeyId: string | undefined,
  secretAccessKey: string | undefined,
  sessionToken: string | undefined,
  lifetimeMs?: number,
): Fetched | undefined {
  if (!accessKeyId || !secretAccessKey) return undefined;
  const value = { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
  return lifetimeMs === undefined ? { value } : { value, lifetimeMs };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function noCredentials(message: string): Refusal {
  return new Refusal("permanent", message, { status: "HTTP 401", category: "integration" });
}
