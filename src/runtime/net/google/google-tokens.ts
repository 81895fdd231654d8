import { createSign } from "node:crypto";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { ComponentContext } from "#contract";
import { Refusal } from "#contract/errors";
import { environmentVariable } from "#system";
import { type FetchedCredentials, RenewedCredentials } from "../auth/renewed-credentials.js";
import { sendSmallRequest } from "../sending/small-request.js";

type TokenContext = Pick<ComponentContext, "clock" | "random" | "logger">;

/** An access token, and the project of the account it is for. */
export interface GoogleToken {
  readonly token: string;
  readonly project: string;
  /** The project that pays for requests of a person; empty for accounts of services, which belong to one. */
  readonly quotaProject: string;
}

interface CredentialsFile {
  readonly type?: string;
  readonly project_id?: string;
  readonly quota_project_id?: string;
  readonly client_email?: string;
  readonly private_key?: string;
  readonly private_key_id?: string;
  readonly token_uri?: string;
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly refresh_token?: string;
}

export const GOOGLE_SCOPES: readonly string[] = ["https://www.googleapis.com/auth/cloud-platform"];
const TOKEN_URI = "https://oauth2.googleapis.com/token";
const TIMEOUT_MS = 10_000;
const METADATA_TIMEOUT_MS = 2000;
const BUFFER_MS = 300_000;
const HOUR_S = 3600;

/**
 * Tokens by Google's rules for default credentials: of the file that GOOGLE_APPLICATION_CREDENTIALS names, of the file that gcloud
 * writes, or of the metadata server of a machine at Google.
 */
export function googleTokens(context: TokenContext, scopes = GOOGLE_SCOPES): RenewedCredentials<GoogleToken> {
  const { clock, random, logger } = context;
  const fetch = () => fetchToken(context, scopes);
  return new RenewedCredentials({ fetch, bufferMs: BUFFER_MS, clock, random, logger });
}

async function fetchToken(context: TokenContext, scopes: readonly string[]): Promise<FetchedCredentials<GoogleToken>> {
  const path = environmentVariable("GOOGLE_APPLICATION_CREDENTIALS");
  const file = path ?? join(homedir(), ".config", "gcloud", "application_default_credentials.json");
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (path !== undefined) throw noCredentials(`the credentials cannot be read from ${path}: ${error.code}`);
    return undefined;
  });
  return text === undefined ? fromMetadata(context, scopes) : fromFile(parsed(text, file), file, context, scopes);
}

function parsed(text: string, file: string): CredentialsFile {
  try {
    return JSON.parse(text) as CredentialsFile;
  } catch {
    throw noCredentials(`${file} is not JSON`);
  }
}

async function fromFile(
  account: CredentialsFile,
  file: string,
  context: TokenContext,
  scopes: readonly string[],
): Promise<FetchedCredentials<GoogleToken>> {
  const uri = tokenUrl(account.token_uri ?? TOKEN_URI, file);
  const grant = grantOf(account, file, uri, context.clock.now(), scopes);
  const answer = await sendSmallRequest({
    method: "POST",
    url: uri,
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(grant).toString(),
    timeoutMs: TIMEOUT_MS,
    clock: context.clock,
  });
  const quotaProject = account.quota_project_id ?? "";
  return tokenIn(answer, account.project_id ?? quotaProject, quotaProject, uri.origin);
}

function grantOf(
  account: CredentialsFile,
  file: string,
  uri: URL,
  now: number,
  scopes: readonly string[],
): Record<string, string> {
  if (account.type === "service_account" && account.private_key !== undefined)
    return {
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: assertionOf(account, uri, now, scopes),
    };
  const { client_id: id, client_secret: secret, refresh_token: token } = account;
  if (account.type === "authorized_user" && id && secret && token)
    return { grant_type: "refresh_token", client_id: id, client_secret: secret, refresh_token: token };
  throw noCredentials(
    `${file} has credentials of the type ${account.type ?? "unknown"}; expected service_account or authorized_user`,
  );
}

/** Signs who wants a token, for what and how long (RFC 7523). */
function assertionOf(
  { client_email: iss, private_key: key, private_key_id: kid }: CredentialsFile,
  uri: URL,
  now: number,
  scopes: readonly string[],
) {
  const iat = Math.floor(now / 1000);
  const claims = { iss, scope: scopes.join(" "), aud: uri.href, iat, exp: iat + HOUR_S };
  const parts = [{ alg: "RS256", typ: "JWT", ...(kid && { kid }) }, claims];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  try {
    return `${text}.${createSign("RSA-SHA256").update(text).sign(key!, "base64url")}`;
  } catch (cause) {
    throw noCredentials(`the private key of ${iss} cannot be used: ${(cause as Error).message}`);
  }
}

async function fromMetadata(
  { clock }: TokenContext,
  scopes: readonly string[],
): Promise<FetchedCredentials<GoogleToken>> {
  const host = environmentVariable("GCE_METADATA_HOST") ?? "metadata.google.internal";
  const ask = (path: string) =>
    sendSmallRequest({
      method: "GET",
      url: new URL(`http://${host}/computeMetadata/v1/${path}`),
      headers: { "Metadata-Flavor": "Google" },
      timeoutMs: METADATA_TIMEOUT_MS,
      isDirect: true,
      clock,
    }).catch(() => undefined);
  const query = scopes === GOOGLE_SCOPES ? "" : `?scopes=${encodeURIComponent(scopes.join(","))}`;
  const answer = await ask(`instance/service-accounts/default/token${query}`);
  if (answer === undefined)
    throw noCredentials(
      "there are no credentials for Google: set GOOGLE_APPLICATION_CREDENTIALS, run gcloud auth application-default login, or run at Google",
    );
  const project = await ask("project/project-id");
  return tokenIn(answer, project?.status === 200 ? project.text.trim() : "", "", host);
}

function tokenIn(
  { status, json }: { readonly status: number; readonly json: Readonly<Record<string, unknown>> },
  project: string,
  quotaProject: string,
  server: string,
): FetchedCredentials<GoogleToken> {
  const { access_token: token, expires_in: seconds } = json;
  if (status === 200 && typeof token === "string") {
    const value = { token, project, quotaProject };
    return typeof seconds === "number" ? { value, lifetimeMs: seconds * 1000 } : { value };
  }
  const message = `${server} gives no token: HTTP ${status} ${String(json["error"] ?? "")}`.trim();
  if (status >= 500 || status === 429) throw new Refusal("transient", message, { blame: "backend" });
  throw noCredentials(message);
}

/** The key signs for this server, so it must be Google's or at least protected on the way. */
function tokenUrl(text: string, file: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "https:" || (url?.protocol === "http:" && url.hostname === "127.0.0.1")) return url;
  throw noCredentials(`token_uri of ${file} is not an https URL`);
}

function noCredentials(message: string): Refusal {
  return new Refusal("permanent", message, { status: "HTTP 401", category: "integration" });
}
