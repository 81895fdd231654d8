import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { environmentVariable } from "#system";
import { type FetchedKeys, FILE_LIFETIME_MS, keysOf, noCredentials } from "./aws-keys.js";

/** Ways to get keys that tools of AWS know and Sluice does not, by the key of a profile that asks for them. */
const UNSUPPORTED: readonly string[] = [
  "credential_process",
  "sso_session",
  "sso_start_url",
  "role_arn",
  "web_identity_token_file",
  "login_session",
];

type Profile = Readonly<Record<string, string>>;

/**
 * Returns the keys of the profile that AWS_PROFILE names, or else of `default`, from the shared credentials file or the
 * config file. Returns undefined if AWS_PROFILE is not set and there are no keys: then other sources follow. A profile
 * that is named says whose keys to use, so no other keys are good enough: without them, rejects with a `Refusal`.
 */
export async function fromProfile(): Promise<FetchedKeys | undefined> {
  const named = environmentVariable("AWS_PROFILE");
  const name = named || "default";
  const files = [sharedFile("AWS_SHARED_CREDENTIALS_FILE", "credentials"), sharedFile("AWS_CONFIG_FILE", "config")];
  const texts = await Promise.all(files.map((path) => readShared(path, named !== undefined)));
  const sections = [`profile ${name}`, ...(name === "default" ? [name] : [])];
  const profiles = [sectionIn(texts[0]!, [name, `profile ${name}`]), sectionIn(texts[1]!, sections)];
  for (const profile of profiles) {
    const keys = profile === undefined ? undefined : keysIn(profile);
    if (keys !== undefined) return keys;
  }
  const found = profiles.filter((profile) => profile !== undefined);
  const way = UNSUPPORTED.find((key) => found.some((profile) => Object.hasOwn(profile, key)));
  if (way !== undefined)
    throw noCredentials(`the AWS profile ${name} gets its keys by ${way}, which Sluice does not support: ${ADVICE}`);
  if (!named) return undefined;
  const problem = found.length > 0 ? "has no keys" : "does not exist";
  throw noCredentials(`the AWS profile ${name} (AWS_PROFILE) ${problem} in ${files.join(" and ")}`);
}

const ADVICE = "use aws_access_key_id and aws_secret_access_key, or assume_role";

function sharedFile(variable: string, name: string): string {
  return environmentVariable(variable) || join(homedir(), ".aws", name);
}

/** A file that does not exist has no profiles. */
async function readShared(path: string, isNeeded: boolean): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (isNeeded && code !== "ENOENT" && code !== "ENOTDIR") throw noCredentials(`cannot read ${path}: ${code}`);
    return "";
  }
}

function keysIn(profile: Profile): FetchedKeys | undefined {
  const { aws_access_key_id: id, aws_secret_access_key: secret, aws_session_token: token } = profile;
  return keysOf(id, secret, token, FILE_LIFETIME_MS);
}

/** The keys and values below a header with one of these names; undefined if there is none. */
function sectionIn(text: string, names: readonly string[]): Profile | undefined {
  let profile: Record<string, string> | undefined;
  let isWanted = false;
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (line.startsWith("[")) {
      const header = line.slice(1, line.indexOf("]")).trim();
      isWanted = names.includes(header.replace(/\s+/, " "));
      if (isWanted) profile ??= {};
    } else if (isWanted && line.includes("=") && !/^[#;]/.test(line)) {
      const at = line.indexOf("=");
      profile![line.slice(0, at).trim().toLowerCase()] = line.slice(at + 1).trim();
    }
  }
  return profile;
}
