import { stat } from "node:fs/promises";
import { makePrivate } from "#system";

/**
 * Makes the files of a store accessible only to their owner. LevelDB creates files with the umask of the process, which
 * belongs to the program that embeds Sluice. So the directory is closed to others, and new files are changed.
 */
export class OwnerOnlyFiles {
  private readonly directory: string;
  private checkedAt = 0;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Checks the files if any were added or removed since the last call. Never rejects. */
  async check(): Promise<void> {
    const changedAt = await stat(this.directory).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    );
    if (changedAt === this.checkedAt) return;
    this.checkedAt = changedAt;
    await makePrivate(this.directory);
  }
}
