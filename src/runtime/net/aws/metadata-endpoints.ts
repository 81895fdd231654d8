import { readFile } from "node:fs/promises";
import type { Clock } from "#contract";
import { environmentVariable } from "#system";
import { nonEmptyText } from "#text/json";
import { type SmallAnswer, sendSmallRequest } from "../sending/small-request.js";
import { type FetchedKeys, keysOf, lifetimeUntil, noCredentials, throwIfTransient, trustedUrl } from "./aws-keys.js";

const CONTAINER_TIMEOUT_MS = 5000;
const CONTAINER_ORIGIN = "http://169.254.170.2";
/** The addresses that EKS gives to containers. */
const CONTAINER_HOSTS: readonly string[] = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];

/** Outside EC2 nothing answers at this address, and finding out should not take long. */
const INSTANCE_TIMEOUT_MS = 1000;
const INSTANCE_ORIGIN = "http://169.254.169.254";
const INSTANCE_HOSTS: readonly string[] = ["169.254.169.254", "[fd00:ec2::254]"];
const INSTANCE_TOKEN_SECONDS = "300";
const ROLE_PATH = "/latest/meta-data/iam/security-credentials/";

/** Returns undefined outside a container with a role. */
export async function fromContainer(clock: Clock): Promise<FetchedKeys | undefined> {
  const url = containerUrl();
  if (url === undefined) return undefined;
  const headers = await containerHeaders();
  const answer = await sendSmallRequest({
    method: "GET",
    url,
    headers,
    timeoutMs: CONTAINER_TIMEOUT_MS,
    clock,
    isDirect: true,
  });
  return keysIn(answer, url, clock);
}

/**
 * Returns the keys of an EC2 instance's role, from version 2 of its metadata service. That version requires a token
 * obtained by PUT, so a redirect or a header cannot trick the agent into a request. Returns undefined if the service
 * does not exist or is switched off.
 */
export async function fromInstance(clock: Clock): Promise<FetchedKeys | undefined> {
  if (environmentVariable("AWS_EC2_METADATA_DISABLED")?.toLowerCase() === "true") return undefined;
  const base = instanceUrl();
  const ask = (method: "GET" | "PUT", path: string, headers: Record<string, string>) => {
    const url = new URL(path, base);
    return sendSmallRequest({ method, url, headers, timeoutMs: INSTANCE_TIMEOUT_MS, clock, isDirect: true });
  };
  const ttl = { "X-aws-ec2-metadata-token-ttl-seconds": INSTANCE_TOKEN_SECONDS };
  const token = await ask("PUT", "/latest/api/token", ttl).catch(() => undefined);
  if (token === undefined) return undefined; // Nothing answers.
  throwIfTransient(token, base.origin);
  if (token.status !== 200) throw noCredentials(`${base.origin} gave no token: HTTP ${token.status}`);
  const headers = { "X-aws-ec2-metadata-token": token.text.trim() };
  const roles = await ask("GET", ROLE_PATH, headers);
  throwIfTransient(roles, base.origin);
  const role = roles.status === 200 ? roles.text.trim().split("\n", 1)[0]! : "";
  if (role === "") return undefined; // The instance has no role.
  return keysIn(await ask("GET", `${ROLE_PATH}${encodeURIComponent(role)}`, headers), base, clock);
}

function keysIn(answer: SmallAnswer, { origin }: URL, clock: Clock): FetchedKeys {
  throwIfTransient(answer, origin);
  const { status, json } = answer;
  const { AccessKeyId: id, SecretAccessKey: secret, Token: token, Expiration: end } = json;
  const lifetimeMs = lifetimeUntil(nonEmptyText(end), clock);
  const found =
    status === 200 ? keysOf(nonEmptyText(id), nonEmptyText(secret), nonEmptyText(token), lifetimeMs) : undefined;
  if (found === undefined) throw noCredentials(`${origin} answered HTTP ${status} without AWS keys`);
  return found;
}

/**
 * The variable must not send the container's token to any host: only TLS, this machine, and the addresses of AWS are
 * allowed.
 */
function containerUrl(): URL | undefined {
  const relative = environmentVariable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (relative !== undefined) return new URL(relative, CONTAINER_ORIGIN);
  const full = environmentVariable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (full === undefined) return undefined;
  return trustedUrl("AWS_CONTAINER_CREDENTIALS_FULL_URI", full, CONTAINER_HOSTS);
}

function instanceUrl(): URL {
  const name = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
  return trustedUrl(name, environmentVariable(name) ?? INSTANCE_ORIGIN, INSTANCE_HOSTS);
}

async function containerHeaders(): Promise<Record<string, string>> {
  const file = environmentVariable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  const read = file === undefined ? undefined : await readFile(file, "utf8").catch(() => undefined);
  const token = read?.trim() ?? environmentVariable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  return token === undefined ? {} : { Authorization: token };
}
