import { createHash } from "node:crypto";
import { chmod, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** A worker of an agent, and where it finds the others. */
export interface WorkerAddress {
  /** From 1. */
  readonly number: number;
  /** The number of all workers. */
  readonly count: number;
  /** A directory that only the agent's user may read. All workers of the agent have the same one, and no other agent. */
  readonly socketDirectory: string;
  /** Workers show it to each other. On Windows, where anybody can find a named pipe, it keeps others out. */
  readonly key: Uint8Array;
}

/** Unix limits the length of a socket's path. */
const MAX_PATH_BYTES = 103;

/** Where a worker listens for the others: a Unix socket in the directory, or a named pipe on Windows. */
export function socketPath(directory: string, worker: number): string {
  if (process.platform !== "win32") return join(directory, `${worker}.sock`);
  const name = createHash("sha256").update(directory).digest("hex").slice(0, 32);
  return `\\\\.\\pipe\\sluice-${name}-${worker}`;
}

/** Throws if another user could connect, or the path is too long. */
export async function checkDirectory({ socketDirectory, number }: WorkerAddress): Promise<void> {
  if (process.platform === "win32") return;
  const { mode, uid } = await stat(socketDirectory);
  if ((mode & 0o077) !== 0 || uid !== process.getuid?.())
    throw new Error(`${socketDirectory}: expected a directory of this user with mode 0700`);
  const path = socketPath(socketDirectory, number);
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    throw new Error(`${path}: the path of a socket has at most ${MAX_PATH_BYTES} bytes`);
}

/** Removes what a worker of the same number has left behind when it was killed. */
export async function removeSocket(path: string): Promise<void> {
  if (process.platform !== "win32") await rm(path, { force: true });
}

export async function restrictSocket(path: string): Promise<void> {
  if (process.platform !== "win32") await chmod(path, 0o600);
}
