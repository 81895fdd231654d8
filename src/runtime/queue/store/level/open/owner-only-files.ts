import { stat } from "node:fs/promises";
import { makePrivate } from "#system";

/**
 * Keeps the files of a store for their owner alone. LevelDB makes them with the rights that the umask of the process leaves,
 * and that belongs to the program that Sluice may be embedded in; so its directory is closed to others, and the files in
 * it are changed when there are new ones.
 */
export class OwnerOnlyFiles {
  private readonly directory: string;
  private checkedAt = 0;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Looks at the files if some came or went since. Never rejects. */
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
