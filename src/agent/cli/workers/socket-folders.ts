import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

const PREFIX = "sluice-workers-";
/** A younger folder may belong to an agent that is starting. */
const MIN_AGE_MS = 60_000;

/** Creates a private folder for the sockets between the workers of this process. */
export function createSocketFolder(): string {
  return mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
}

/** Creates the folder again if it is gone: programs that clean temporary directories remove what looks old. */
export function restoreSocketFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}

/**
 * Removes the folders of agents that were killed together with their workers. A folder stays if another process has the
 * number in its name, or if a worker answers at one of its sockets: its agent may run in another container that shares
 * the directory. (In containers the agent often has the same number again.) Never rejects.
 */
export async function removeOldSocketFolders(own: string): Promise<void> {
  for (const name of namesIn(tmpdir())) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    const folder = join(tmpdir(), name);
    if (pid === undefined || folder === own || isOther(Number(pid)) || !isOwnAndOld(folder)) continue;
    const sockets = namesIn(folder).filter((each) => each.endsWith(".sock"));
    const answers = await Promise.all(sockets.map((socket) => isAnswered(join(folder, socket))));
    if (!answers.includes(true)) rmSync(folder, { recursive: true, force: true });
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isOther(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

function isOwnAndOld(folder: string): boolean {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined || !found.isDirectory()) return false;
  return found.uid === (process.getuid?.() ?? found.uid) && Date.now() - found.mtimeMs > MIN_AGE_MS;
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
