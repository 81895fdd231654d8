import { readFile, stat } from "node:fs/promises";
import { AdminError } from "../../contract/admin.js";
import type { CommandContext } from "../command.js";
import { type Terminal, UsageError } from "../terminal.js";
import type { DeadLetterConnection } from "./dead-letter-admin.js";
import { remoteAdmin } from "./remote.js";
import { type ApiAccess, isDistrusted, isUnreachable, requestJson } from "./send-request.js";

const DEFAULT_API = "http://127.0.0.1:55679";
const PROBE_TIMEOUT_MS = 2000;
const DEFAULT_DIRECTORY = "./data/queue";

/**
 * Finds the dead letters: those of the agent named with --api or of the one at the default address (SLUICE_API in the environment changes it), or those in the
 * directory named with --dir. When nothing is named and no agent answers, the default directory is tried; what is done
 * then is said.
 */
export async function connect({ values, terminal }: CommandContext): Promise<DeadLetterConnection> {
  const api = values["api"] as string | undefined;
  const directory = values["dir"] as string | undefined;
  if (api !== undefined && directory !== undefined) throw new UsageError("--api and --dir exclude each other");
  if (directory !== undefined) return openDirectory(directory, terminal);
  const base = baseOf(api ?? (terminal.env["SLUICE_API"] || DEFAULT_API));
  const access = await readAccess(values);
  if (await isAgent(base, access))
    return { admin: remoteAdmin(base, access), where: base.origin, isOffline: false, close: async () => {} };
  if (api !== undefined) throw new AdminError("unavailable", `no agent answers at ${base.origin}`);
  if (!(await isDirectory(DEFAULT_DIRECTORY))) throw noAgentError(base);
  terminal.err.write(`No agent answers at ${base.origin}; working on ${DEFAULT_DIRECTORY}.\n`);
  return openDirectory(DEFAULT_DIRECTORY, terminal);
}

async function readAccess(values: CommandContext["values"]): Promise<ApiAccess> {
  const read = async (option: string) => {
    const path = values[option] as string | undefined;
    if (path === undefined) return {};
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`--${option}: cannot read ${path}: ${error.code}`);
    });
    return { [option]: text };
  };
  return { tls: { ...(await read("ca")), ...(await read("cert")), ...(await read("key")) } };
}

function noAgentError(base: URL): AdminError {
  const advice = "name a running agent with --api URL, or the directory of its queues with --dir DIR";
  return new AdminError(
    "unavailable",
    `no agent answers at ${base.origin}, and there is no ${DEFAULT_DIRECTORY} here; ${advice}`,
  );
}

function baseOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new UsageError(`${text} is no URL of an agent`, `write ${DEFAULT_API}`);
  }
  url.pathname = url.pathname.replace(/\/?(api\/v1\/?)?$/, "/");
  return url;
}

/** False when nobody listens there; throws when somebody does who is no agent: that is worth knowing. */
async function isAgent(base: URL, access: ApiAccess): Promise<boolean> {
  try {
    const asked = { method: "GET", timeoutMs: PROBE_TIMEOUT_MS };
    const { name } = await requestJson<{ name?: unknown }>(new URL("api/v1", base), asked, access);
    if (name === "sluice") return true;
  } catch (error) {
    if (isUnreachable(error)) return false;
    if (error instanceof AdminError) throw error;
    if (isDistrusted(error)) throw distrustError(error as Error);
  }
  throw new AdminError("unavailable", `what answers at ${base.origin} is not the API of a Sluice agent`);
}

function distrustError(error: Error): AdminError {
  const advice = "--ca FILE names the authority to trust, --cert and --key the certificate to show";
  return new AdminError("unavailable", `${error.message}; ${advice}`, { cause: error });
}

async function openDirectory(directory: string, terminal: Terminal): Promise<DeadLetterConnection> {
  if (!(await isDirectory(directory))) throw new AdminError("not_found", `there is no directory ${directory}`);
  const { openOfflineQueues } = await import("../../../extensions/reliability/operate/offline-queues.js");
  const { admin, damage, close } = await openOfflineQueues(directory);
  for (const sentence of damage) terminal.err.write(`sluice: ${sentence}\n`);
  return { admin, close, where: directory, isOffline: true };
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}
