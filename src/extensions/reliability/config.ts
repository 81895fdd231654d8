import { z } from "zod";
import { POSTGRES_CLIENT } from "#brokers/postgres";
import { createExporterSettingsSchema, type ExporterSettings, lazySection } from "#contract/schema";
import type { deadLetterConditionIssue } from "#ottl";
import { encryptionSchema, postgresStoreKeys } from "#queue/store";
import { hasClient, missingClient } from "#system";
import { duration, section } from "../../plugin.js";

let conditionIssue: typeof deadLetterConditionIssue | undefined;

/** Loads what checks conditions. They are rare, and loading OTTL takes longer than checking most configs. */
export async function loadConditions(): Promise<void> {
  conditionIssue ??= (await import("#ottl")).deadLetterConditionIssue;
}

/** The condition of a dead letter filter, see `deadLetterConditionIssue`. It stays text. Empty means no condition. */
const condition = z
  .string()
  .superRefine((text, context) => {
    if (text === "") return;
    if (conditionIssue === undefined) throw new TypeError("loadConditions was not called");
    const issue = conditionIssue(text);
    if (issue !== undefined) context.addIssue(issue);
  })
  .meta({ format: "condition" });

/** The keys of every exporter, with their conditions checked. */
export const exporterSettings = createExporterSettingsSchema(condition);

const directorySchema = z
  .string()
  .min(1, "expected a directory such as ./data/queue")
  .default("./data/queue")
  .meta({ privileged: true, description: "Where the sending queues are kept, one directory for each exporter." });

/** Whether pipelines that hold deliveries get a journal by default: not if queues are turned off. */
export function keepsJournals({ sending_queue }: ExporterSettings): boolean {
  return sending_queue?.enabled !== false;
}

const DURABILITY_KEYS = ["durability", "durability_interval"] as const;

/** A store on a server has no directory, and the agent cannot choose when the server writes to its disk. */
export function ignoredKeys({ store }: ReliabilityConfig) {
  if (store === undefined) return undefined;
  const reason = "with store.postgres the queues are on the server, and its settings determine when data is on disk";
  return { own: ["directory", ...DURABILITY_KEYS], ofExporters: DURABILITY_KEYS, reason };
}

/** The keys that are about the queues as a whole. The agent must be started again to change them. */
export const OWN_KEYS = ["directory", "audit", "history", "encryption", "store"] as const;

/** Everything else in the config: the defaults of the keys that every exporter has. */
export function exporterDefaults({
  directory: _directory,
  audit: _audit,
  history: _history,
  encryption: _encryption,
  store: _store,
  drain_removed: _drain,
  ...defaults
}: ReliabilityConfig): ExporterSettings {
  return defaults;
}

const DAY_MS = 24 * 3_600_000;

const auditSchema = z.strictObject({
  retention: duration()
    .default(90 * DAY_MS)
    .meta({
      description: "How long the audit keeps its records of replays, deletions, reveals and changes; 0: forever.",
    }),
});

const historySchema = z.strictObject({
  retention: duration()
    .default(7 * DAY_MS)
    .meta({ description: "How long replays and the histories of the entries they delivered are kept; 0: forever." }),
});

const storeSchema = () =>
  z.strictObject({
    postgres: section(postgresStoreKeys()).meta({ description: "The connection to the PostgreSQL server." }),
  });

/**
 * The keys that every exporter has, as defaults for all exporters; the place of the queues; and what is stored with
 * them.
 */
const reliabilityConfig = exporterSettings.extend({
  directory: directorySchema,
  audit: section(auditSchema)
    .prefault({})
    .meta({ description: "The audit: what operators did by command line, API or console." }),
  history: section(historySchema).prefault({}).meta({ description: "The results of replays." }),
  drain_removed: z.boolean().default(false).meta({
    description:
      "If a reload removes an exporter, keep it running until its queue is empty. Otherwise the queue is orphaned.",
  }),
  encryption: encryptionSchema.optional().meta({ description: "Encrypts the queues with your own keys." }),
  store: lazySection(storeSchema).optional().meta({
    description: "Keeps queues and dead letters on a server instead of on disk, for agents without a disk.",
  }),
});

export const reliabilitySchema = reliabilityConfig.superRefine(({ store }, context) => {
  if (store?.postgres && !hasClient(POSTGRES_CLIENT))
    context.addIssue({ code: "custom", path: ["store", "postgres"], message: missingClient(POSTGRES_CLIENT) });
});

export type ReliabilityConfig = z.infer<typeof reliabilityConfig>;
