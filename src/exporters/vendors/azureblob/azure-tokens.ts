import { readFile } from "node:fs/promises";
import { type FetchedCredentials, RenewedCredentials } from "#net/auth";
import { type SmallAnswer, sendSmallRequest } from "#net/sending";
import { environmentVariable } from "#system";
import { type ExporterContext, Refusal } from "../../../plugin.js";
import type { AzureBlobConfig, AzureIdentity } from "./config.js";

export interface AzureToken {
  readonly token: string;
}

const RESOURCE = "https://storage.azure.com/";
const LOGIN = "https://login.microsoftonline.com/";
const METADATA = "http://169.254.169.254";
const TIMEOUT_MS = 10_000;
const METADATA_TIMEOUT_MS = 2000;
const BUFFER_MS = 300_000;

/** Tokens for Azure Storage, of an application or of the machine's managed identity. */
export function azureTokens(auth: AzureBlobConfig["auth"], context: ExporterContext): RenewedCredentials<AzureToken> {
  const { clock, random, logger } = context;
  const fetch = async () => {
    const answer = await (auth.type.endsWith("managed_identity") ? askMachine(auth, context) : askLogin(auth, context));
    return tokenIn(answer);
  };
  return new RenewedCredentials({ fetch, bufferMs: BUFFER_MS, clock, random, logger });
}

async function askLogin(auth: AzureIdentity, { clock }: ExporterContext): Promise<SmallAnswer> {
  const { tenant_id: tenant = "", client_id: id = "", client_secret: secret, federated_token_file: file } = auth;
  const proof =
    file === undefined || secret !== undefined
      ? { client_secret: secret ?? "" }
      : {
          client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
          client_assertion: await assertionIn(file),
        };
  const host = environmentVariable("AZURE_AUTHORITY_HOST") ?? LOGIN;
  return sendSmallRequest({
    method: "POST",
    url: new URL(`${encodeURIComponent(tenant)}/oauth2/v2.0/token`, host.endsWith("/") ? host : `${host}/`),
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: id,
      scope: `${RESOURCE}.default`,
      ...proof,
    }).toString(),
    timeoutMs: TIMEOUT_MS,
    clock,
  });
}

async function assertionIn(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    throw noToken(`the token cannot be read from ${file}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

async function askMachine(
  { type, client_id: id = "" }: AzureBlobConfig["auth"],
  { clock }: ExporterContext,
): Promise<SmallAnswer> {
  const url = new URL(
    "/metadata/identity/oauth2/token",
    environmentVariable("AZURE_POD_IDENTITY_AUTHORITY_HOST") ?? METADATA,
  );
  url.searchParams.set("api-version", "2018-02-01");
  url.searchParams.set("resource", RESOURCE);
  if (type === "user_managed_identity") url.searchParams.set("client_id", id);
  return sendSmallRequest({
    method: "GET",
    url,
    headers: { Metadata: "true" },
    timeoutMs: METADATA_TIMEOUT_MS,
    isDirect: true,
    clock,
  });
}

/** The machine's service gives the lifetime as text. */
function tokenIn({ status, json }: SmallAnswer): FetchedCredentials<AzureToken> {
  const { access_token: token, expires_in: seconds, error } = json;
  if (status === 200 && typeof token === "string") {
    const lifetimeMs = Number(seconds) * 1000;
    return Number.isFinite(lifetimeMs) ? { value: { token }, lifetimeMs } : { value: { token } };
  }
  const message = `Azure gives no token: HTTP ${status} ${typeof error === "string" ? error : ""}`.trim();
  if (status >= 500 || status === 429 || status === 404) throw new Refusal("transient", message, { blame: "backend" });
  throw noToken(message);
}

function noToken(message: string): Refusal {
  return new Refusal("permanent", message, { status: "HTTP 401", category: "integration" });
}
