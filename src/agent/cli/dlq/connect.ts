import { stat } from "node:fs/promises";
import { silentLogger } from "#contract";
import { AdminError } from "#contract/operations";
import type { OfflineQueues } from "#queue";
import type { Keyring, PostgresStoreConfig } from "#queue/store";
import { loadTextMask, maskBatch } from "../../mask-batch.js";
import { agentAddress, findAgent } from "../agent/find-agent.js";
import { reportFailure } from "../agent/report.js";
import type { CommandContext } from "../command.js";
import { loadFromArguments } from "../load-from-arguments.js";
import { showProblems } from "../show-problems.js";
import { type Terminal, UsageError } from "../terminal.js";
import { type DeadLetterConnection, remoteAdmin } from "./remote.js";

const DEFAULT_DIRECTORY = "./data/queue";

/**
 * Opens the dead letters of a running agent, of the directory given with --dir, or of the queues of the config given
 * with --config (with its encryption keys). With none of these options, and when no agent answers, it opens the default
 * directory and says so.
 */
async function connect(context: CommandContext): Promise<DeadLetterConnection> {
  const { values, terminal } = context;
  const directory = values["dir"] as string | undefined;
  if (values["api"] !== undefined && directory !== undefined)
    throw new UsageError("--api and --dir cannot be used together");
  const queues = await readQueueConfig(context);
  if (directory === undefined && queues?.postgres !== undefined && values["api"] === undefined)
    return openPostgres(queues.postgres, terminal, queues);
  if (directory !== undefined || (queues !== undefined && values["api"] === undefined))
    return openDirectory(directory ?? queues!.directory, terminal, queues);
  const address = await agentAddress(context);
  const { base, isNamed } = address;
  const agent = await findAgent(address);
  if (agent !== undefined)
    return { admin: remoteAdmin(base, agent.access), where: base.origin, isOffline: false, close: async () => {} };
  if (isNamed) throw new AdminError("unavailable", `no agent answers at ${base.origin}`);
  if (!(await isDirectory(DEFAULT_DIRECTORY))) throw noAgentError(base);
  terminal.err.write(`No agent answers at ${base.origin}; working on ${DEFAULT_DIRECTORY}.\n`);
  return openDirectory(DEFAULT_DIRECTORY, terminal, queues);
}

function noAgentError(base: URL): AdminError {
  const advice = "name a running agent with --api URL, or the directory of its queues with --dir DIR";
  return new AdminError(
    "unavailable",
    `no agent answers at ${base.origin}, and there is no ${DEFAULT_DIRECTORY} here; ${advice}`,
  );
}

async function openDirectory(
  directory: string,
  terminal: Terminal,
  queues: QueueConfig | undefined,
): Promise<DeadLetterConnection> {
  if (!(await isDirectory(directory))) throw new AdminError("not_found", `there is no directory ${directory}`);
  const { deadLetterLanguage: language } = await import("../../../runtime/ottl/compile/dead-letter-language.js");
  const { openOfflineQueues } = await import("../../../runtime/queue/operate/offline-queues.js");
  await loadTextMask();
  return offline(
    await openOfflineQueues(directory, { language, mask: maskBatch }, queues?.keyring),
    directory,
    terminal,
  );
}

async function openPostgres(
  config: PostgresStoreConfig,
  terminal: Terminal,
  { keyring }: QueueConfig,
): Promise<DeadLetterConnection> {
  const { deadLetterLanguage: language } = await import("../../../runtime/ottl/compile/dead-letter-language.js");
  const { openOfflinePostgresQueues } = await import("../../../runtime/queue/operate/offline-queues.js");
  await loadTextMask();
  const where = `PostgreSQL at ${config.endpoint}`;
  return offline(await openOfflinePostgresQueues(config, { language, mask: maskBatch }, keyring), where, terminal);
}

function offline({ admin, damage, close }: OfflineQueues, where: string, terminal: Terminal): DeadLetterConnection {
  for (const sentence of damage) terminal.err.write(`sluice: ${sentence}\n`);
  return { admin, close, where, isOffline: true };
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

/**
 * Opens the dead letters, runs a command on them and closes them. Prints the error if it fails, and returns the exit
 * code.
 */
export function withDeadLetters(
  context: CommandContext,
  work: (connection: DeadLetterConnection) => Promise<number>,
): Promise<number> {
  return reportFailure(context, async () => {
    const connection = await connect(context);
    try {
      return await work(connection);
    } finally {
      await connection.close();
    }
  });
}

/** The queues of a config: where they are, and the keys that they are encrypted with. */
interface QueueConfig {
  readonly directory: string;
  /** Set when the queues are in PostgreSQL instead of the directory. */
  readonly postgres: PostgresStoreConfig | undefined;
  readonly keyring: Keyring;
}

/** Reads the queue settings of the config given with --config; undefined without one. */
export async function readQueueConfig(context: CommandContext): Promise<QueueConfig | undefined> {
  if (context.values["config"] === undefined) return undefined;
  const { config, problems, lineAt } = await loadFromArguments(context);
  if (config === undefined) {
    showProblems(problems, lineAt, context.terminal.err);
    throw new AdminError("bad_request", "the config cannot be used; nothing was changed");
  }
  const spec = [...config.extensions.values()].find(({ factory }) => factory.type === "reliability");
  if (spec === undefined)
    throw new AdminError("bad_request", "the config has no queues: the extension reliability is missing");
  const { loadKeyring } = await import("../../../runtime/queue/store/encryption/load-keyring.js");
  const { directory, encryption, store } = spec.config as {
    directory: string;
    store?: { postgres: PostgresStoreConfig };
    encryption?: Parameters<typeof loadKeyring>[0];
  };
  const keyring = await loadKeyring(encryption, silentLogger).catch((error: Error) => {
    throw new AdminError("unavailable", error.message, { cause: error });
  });
  return { directory, postgres: store?.postgres, keyring };
}
