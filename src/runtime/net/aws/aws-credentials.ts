import type { Clock, ComponentContext } from "#contract";
import { environmentVariable } from "#system";
import { RenewedCredentials } from "../auth/renewed-credentials.js";
import { assumeRole, assumeRoleWithWebIdentity } from "./assume-role.js";
import { type FetchedKeys, keysOf, noCredentials } from "./aws-keys.js";
import { fromProfile } from "./aws-profile.js";
import { fromContainer, fromInstance } from "./metadata-endpoints.js";
import type { AwsCredentials } from "./sign.js";

/** Whose keys to use: those of a role, or by default those of the environment. */
interface AwsKeySource {
  readonly region?: string | undefined;
  readonly assume_role?: (RoleConfig & { readonly session_name?: string | undefined }) | undefined;
  readonly assume_role_with_web_identity?: (RoleConfig & { readonly token_file: string }) | undefined;
}

interface RoleConfig {
  readonly arn: string;
  readonly sts_region: string;
}

/** Keys are renewed this long before they end. */
const BUFFER_MS = 300_000;

/** AWS keys that are fetched on first use, and renewed before they end. */
export function renewedAwsKeys(
  source: AwsKeySource,
  { clock, random, logger }: Pick<ComponentContext, "clock" | "random" | "logger">,
): RenewedCredentials<AwsCredentials> {
  const fetch = () => fetchKeys(source, clock);
  return new RenewedCredentials({ fetch, bufferMs: BUFFER_MS, clock, random, logger });
}

/** Returns the keys to sign with: those of the role, or those found in the environment. */
async function fetchKeys(source: AwsKeySource, clock: Clock): Promise<FetchedKeys> {
  const { assume_role: own, assume_role_with_web_identity: web } = source;
  const { arn = "", sts_region: stsRegion = "" } = web?.arn ? web : (own ?? {});
  const role = { arn, sessionName: own?.session_name, region: stsRegion || source.region, clock };
  if (web?.arn) return assumeRoleWithWebIdentity(role, web.token_file);
  const found = await findAwsCredentials(clock);
  return arn === "" ? found : assumeRole(role, found.value);
}

/**
 * Returns AWS keys from the first of these sources that has any: the environment, the role of a web identity in the
 * environment, the profile in the shared files, the endpoint of an ECS or EKS container, and the metadata of an EC2
 * instance. If there are none, or none for a profile that the environment names, rejects with a `Refusal` that holds
 * the queue.
 */
async function findAwsCredentials(clock: Clock): Promise<FetchedKeys> {
  const found =
    fromEnvironment() ??
    (await fromWebIdentity(clock)) ??
    (await fromProfile()) ??
    (await fromContainer(clock)) ??
    (await fromInstance(clock));
  if (found !== undefined) return found;
  throw noCredentials(
    "neither the environment, nor the shared files, nor a container endpoint, nor the instance's metadata has AWS keys",
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
