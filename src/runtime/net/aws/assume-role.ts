import { readFile } from "node:fs/promises";
import type { Clock } from "#contract";
import { Refusal } from "#contract/errors";
import { environmentVariable } from "#system";
import { sendSmallRequest } from "../sending/small-request.js";
import { type FetchedKeys, keysOf, lifetimeUntil, noCredentials, throwIfTransient, trustedUrl } from "./aws-keys.js";
import { type AwsCredentials, signRequest } from "./sign.js";
import { xmlElement, xmlElements } from "./xml-elements.js";

/** A role to assume. */
interface Role {
  readonly arn: string;
  /** The name in the logs of AWS. */
  readonly sessionName: string | undefined;
  /** The region of the service that issues the keys; by default that of the environment. */
  readonly region: string | undefined;
  readonly clock: Clock;
}

const STS_TIMEOUT_MS = 10_000;
const STS_VERSION = "2011-06-15";

/** Returns the keys of a role, for the holder of these keys. Rejects with a `Refusal`. */
export function assumeRole(role: Role, keys: AwsCredentials): Promise<FetchedKeys> {
  return askForKeys(role, "AssumeRole", {}, keys);
}

/** Does the same with the token in a file, which is read each time because something else renews it. */
export async function assumeRoleWithWebIdentity(role: Role, file: string): Promise<FetchedKeys> {
  const token = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw noCredentials(`the token of the web identity cannot be read from ${file}: ${error.code}`);
  });
  return askForKeys(role, "AssumeRoleWithWebIdentity", { WebIdentityToken: token.trim() }, undefined);
}

async function askForKeys(
  { arn, sessionName, region: wanted, clock }: Role,
  action: string,
  more: Readonly<Record<string, string>>,
  keys: AwsCredentials | undefined,
): Promise<FetchedKeys> {
  const region = wanted || environmentVariable("AWS_REGION") || environmentVariable("AWS_DEFAULT_REGION");
  if (!region) throw noCredentials(`there is no region for assuming ${arn}: set sts_region`);
  const url = serviceUrl(region);
  const RoleSessionName = sessionName || `sluice-${clock.now()}`;
  const body = new URLSearchParams({ Action: action, Version: STS_VERSION, RoleArn: arn, RoleSessionName, ...more });
  const headers = { "content-type": "application/x-www-form-urlencoded; charset=utf-8", accept: "text/xml" };
  const signing = { method: "POST", url, headers, body: Buffer.from(body.toString()), region, service: "sts" };
  const signature = keys && signRequest({ ...signing, at: clock.now() }, keys);
  const answer = await sendSmallRequest({
    method: "POST",
    url,
    headers: { ...headers, ...signature },
    body: body.toString(),
    timeoutMs: STS_TIMEOUT_MS,
    clock,
  });
  throwIfTransient(answer, url.origin);
  const found = answer.status === 200 ? keysIn(answer.text, clock) : undefined;
  if (found !== undefined) return found;
  const code = xmlElement(answer.text, "Code")?.slice(0, 100) ?? "no keys";
  const message = `${url.origin} does not give the keys of ${arn}: HTTP ${answer.status}, ${code}`;
  throw code === "Throttling" ? new Refusal("transient", message, { blame: "backend" }) : noCredentials(message);
}

function serviceUrl(region: string): URL {
  if (!/^[a-z0-9-]+$/.test(region)) throw noCredentials(`${JSON.stringify(region)} is not an AWS region`);
  const written = environmentVariable("AWS_ENDPOINT_URL_STS");
  if (written !== undefined) return trustedUrl("AWS_ENDPOINT_URL_STS", written, []);
  return new URL(`https://sts.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}/`);
}

function keysIn(xml: string, clock: Clock): FetchedKeys | undefined {
  const [credentials = ""] = xmlElements(xml, "Credentials");
  const element = (name: string) => xmlElement(credentials, name);
  const lifetimeMs = lifetimeUntil(element("Expiration"), clock);
  return keysOf(element("AccessKeyId"), element("SecretAccessKey"), element("SessionToken"), lifetimeMs);
}
