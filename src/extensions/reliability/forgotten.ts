import type { Logger } from "../../plugin.js";
import { storesUnder } from "./store/level/witness.js";

/**
 * Warns of queues below the directory that are not empty and that no exporter of this config has: an exporter that was
 * renamed or removed, or whose queue was turned off, leaves what it had not delivered behind. Never rejects.
 */
export async function warnOfOrphanedQueues(root: string, used: ReadonlySet<string>, logger: Logger): Promise<void> {
  try {
    for (const { directory, summary } of await storesUnder(root)) {
      const { exporter, pending, failed: deadLetters } = summary;
      if (used.has(exporter) || pending + deadLetters === 0) continue;
      const found = { exporter, directory, pending, deadLetters };
      logger.warn(found, `nothing sends what is in the queue of ${exporter}: ${ORPHANED_QUEUE_ADVICE}`);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") logger.warn({ err: error }, "cannot look for other queues");
  }
}

const ORPHANED_QUEUE_ADVICE =
  "configure an exporter of that name with a queue, or remove the directory if it is not needed";
