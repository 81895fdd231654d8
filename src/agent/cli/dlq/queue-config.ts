import { silentLogger } from "#contract";
import { AdminError } from "#contract/operations";
import type { Keyring, PostgresStoreConfig } from "#queue/store";
import type { CommandContext } from "../command.js";
import { loadFromArguments } from "../load-from-arguments.js";
import { showProblems } from "../show-problems.js";

/** The queues of a config: where they are, and the keys that they are encrypted with. */
export interface QueueConfig {
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
