import { stat } from "node:fs/promises";
import { type HoldOwner, holdName, makePrivate, makePrivateDirectory, type ProcessHold } from "#system";
import { StoreError } from "../../store.js";

/**
 * Holds a queue's directory for this process, in addition to LevelDB's lock. LevelDB's lock is a file: removing the
 * file lets a second process in, and POSIX drops the lock when any part of the process closes the same file, as a
 * refused second instance does. The hold is named after the directory itself (device and inode).
 *
 * Between containers that share a directory, only LevelDB's lock works.
 *
 * Creates the directory if necessary. Rejects with a `StoreError` "locked" that names the process holding it.
 */
export async function holdDirectory(directory: string): Promise<ProcessHold> {
  await makePrivateDirectory(directory);
  const { dev, ino } = await stat(directory, { bigint: true });
  const hold = await holdName(`sluice-queue-${dev}-${ino}`);
  if ("heldBy" in hold) throw heldError(directory, hold.heldBy);
  return hold;
}

function heldError(directory: string, owner: HoldOwner): StoreError {
  const advice =
    owner === undefined || owner.since !== undefined
      ? "stop that one, or give this one a directory of its own"
      : `it does not answer and may be stopped: let it continue with kill -CONT ${owner.pid}, or end it with kill -KILL ${owner.pid}`;
  return new StoreError("locked", `the queue directory ${directory} is in use by ${describe(owner)}: ${advice}`);
}

function describe(owner: HoldOwner): string {
  if (owner === undefined) return "another process";
  const { pid, since } = owner;
  const start = since === undefined ? "" : `, since ${since}`;
  return pid === process.pid ? `another instance in this process${start}` : `process ${pid}${start}`;
}

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
