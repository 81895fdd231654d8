import { readFile } from "node:fs/promises";
import { AdminError } from "#contract/operations";
import { isLoopbackHost } from "#net";
import { ADMIN_TOKEN } from "#net/auth";
import type { CommandContext, CommandOption } from "../command.js";
import { option } from "../command.js";
import { UsageError } from "../terminal.js";
import { type ApiAccess, isCertificateError, isUnreachable, requestJson } from "./send-request.js";

const DEFAULT_API = "http://127.0.0.1:55679";
const PROBE_TIMEOUT_MS = 2000;

/** Options of every command that asks a running agent. */
export const AGENT_OPTIONS: Readonly<Record<string, CommandOption>> = {
  api: option("URL", `The agent's URL; default: SLUICE_API, or ${DEFAULT_API}.`),
  ca: option("FILE", "CA certificates to trust for https (PEM)."),
  cert: option("FILE", "Client certificate, if the agent requires one (PEM)."),
  key: option("FILE", "Private key of the client certificate (PEM)."),
};

/** The address of an agent that may be running, and how to connect to it. */
interface AgentAddress {
  readonly base: URL;
  readonly access: ApiAccess;
  /** True when the address was given with --api; no other place is tried then. */
  readonly isNamed: boolean;
}

/**
 * The agent named with --api, or the one at the default address. The environment variable SLUICE_API changes the
 * default.
 */
export async function agentAddress({ values, terminal }: CommandContext): Promise<AgentAddress> {
  const api = values["api"] as string | undefined;
  const base = baseOf(api ?? (terminal.env["SLUICE_API"] || DEFAULT_API));
  return { base, access: await readAccess(values, terminal.env), isNamed: api !== undefined };
}

/**
 * Adds the credentials that the agent asks for to its address. Returns undefined when nothing listens there. Throws
 * when something else than an agent answers, because the user should know.
 */
export async function findAgent(address: AgentAddress): Promise<AgentAddress | undefined> {
  const { base, access } = address;
  try {
    const asked = { method: "GET", timeoutMs: PROBE_TIMEOUT_MS };
    const about = await requestJson<{ name?: unknown; token_file?: unknown }>(new URL("api/v1", base), asked, access);
    if (about.name === "sluice") return { ...address, access: await withToken(access, base, about.token_file) };
  } catch (error) {
    if (isUnreachable(error)) return undefined;
    if (error instanceof AdminError) throw error;
    if (isCertificateError(error)) throw certificateError(error as Error);
  }
  throw new AdminError("unavailable", `the server at ${base.origin} is not the API of a Sluice agent`);
}

/**
 * Adds the token from the file that the agent names, if this user can read it. The server could name any file, so the
 * file's content is sent only if it has the form of an admin token.
 */
async function withToken(access: ApiAccess, base: URL, file: unknown): Promise<ApiAccess> {
  const isLocal = isLoopbackHost(base.hostname.replace(/^\[|\]$/g, ""));
  if (access.token !== undefined || typeof file !== "string" || !isLocal) return access;
  const token = (await readFile(file, "utf8").catch(() => "")).trim();
  return ADMIN_TOKEN.test(token) ? { ...access, token } : access;
}

async function readAccess(
  values: CommandContext["values"],
  env: CommandContext["terminal"]["env"],
): Promise<ApiAccess> {
  const token = env["SLUICE_ADMIN_TOKEN"];
  const read = async (option: string) => {
    const path = values[option] as string | undefined;
    if (path === undefined) return {};
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`--${option}: cannot read ${path}: ${error.code}`);
    });
    return { [option]: text };
  };
  const tls = { ...(await read("ca")), ...(await read("cert")), ...(await read("key")) };
  return token ? { tls, token } : { tls };
}

function baseOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new UsageError(`${text} is not the URL of an agent`, `write ${DEFAULT_API}`);
  }
  url.pathname = url.pathname.replace(/\/?(api\/v1\/?)?$/, "/");
  return url;
}

function certificateError(error: Error): AdminError {
  const advice = "--ca FILE sets the CA to trust, --cert and --key the client certificate";
  return new AdminError("unavailable", `${error.message}; ${advice}`, { cause: error });
}
