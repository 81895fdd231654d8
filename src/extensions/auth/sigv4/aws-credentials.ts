import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { environmentVariable } from "#system";
import type { Clock } from "../../../plugin.js";
import { assumeRoleWithWebIdentity } from "./assume-role.js";
import { type FetchedKeys, FILE_LIFETIME_MS, keysOf, noCredentials } from "./aws-keys.js";
import { fromContainer, fromInstance } from "./metadata-endpoints.js";

/**
 * Returns AWS keys from the first of these sources that has any: the environment, the role of a web identity in the
 * environment, the shared credentials file, the endpoint of an ECS or EKS container, and the metadata of an EC2
 * instance. If there are none, rejects with a `Refusal` that holds the queue.
 */
export async function findAwsCredentials(clock: Clock): Promise<FetchedKeys> {
  const found =
    fromEnvironment() ??
    (await fromWebIdentity(clock)) ??
    (await fromFile()) ??
    (await fromContainer(clock)) ??
    (await fromInstance(clock));
  if (found !== undefined) return found;
  throw noCredentials(
    "neither the environment, nor the shared credentials file, nor a container endpoint, nor the instance's metadata has AWS keys",
  );
}

function fromEnvironment(): FetchedKeys | undefined {
  return keysOf(
    environmentVariable("AWS_ACCESS_KEY_ID"),
    environmentVariable("AWS_SECRET_ACCESS_KEY"),
    environmentVariable("AWS_SESSION_TOKEN"),
  );
}

/** A pod of EKS gets this if its service account has a role. */
async function fromWebIdentity(clock: Clock): Promise<FetchedKeys | undefined> {
  const [file, arn] = [environmentVariable("AWS_WEB_IDENTITY_TOKEN_FILE"), environmentVariable("AWS_ROLE_ARN")];
  if (file === undefined || arn === undefined) return undefined;
  const sessionName = environmentVariable("AWS_ROLE_SESSION_NAME");
  return assumeRoleWithWebIdentity({ arn, sessionName, region: undefined, clock }, file);
}

async function fromFile(): Promise<FetchedKeys | undefined> {
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
