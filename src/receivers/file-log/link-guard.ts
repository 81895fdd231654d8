import { type FileHandle, lstat, readlink, realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { literalFolders } from "./find-files.js";

/**
 * Keeps links from leading the receiver out of the folders that its patterns name. A user who may write into such a
 * folder could otherwise make an agent that runs as root read any file of the machine, such as its password hashes.
 *
 * A file is checked after it was opened, by where the open file really is, so it cannot be exchanged in between.
 */
export class LinkGuard {
  private readonly folders: readonly string[];

  /** `include` are the patterns, and `more` further folders that links may lead into. */
  constructor(include: readonly string[], more: readonly string[]) {
    const named = literalFolders(include).map((folder) => resolve(folder));
    const ofKubernetes = named.some((folder) => KUBERNETES_LOGS.some((logs) => isInside(folder, logs)));
    this.folders = [...named, ...more.map((folder) => resolve(folder)), ...(ofKubernetes ? KUBERNETES_FOLDERS : [])];
  }

  /** Rejects with an error that says what to do if the open file is outside of the allowed folders. */
  async check(path: string, { fd }: FileHandle): Promise<void> {
    const real = await readlink(`/proc/self/fd/${fd}`).catch(() => realpath(path));
    for (const folder of this.folders) {
      const realFolder = await trustedPath(folder).catch(() => undefined);
      if (realFolder !== undefined && isInside(real, realFolder)) return;
    }
    throw new Error(
      `links lead to ${real}, outside of the folders of include: add its folder to symlink_roots, or set follow_symlinks`,
    );
  }
}

/** True unless the agent runs as root: then the system itself checks which files it may read. */
export function followsLinksByDefault(): boolean {
  return process.geteuid?.() !== 0;
}

/** Where a kubelet keeps the logs of containers, and links to them. Only root can write there. */
const KUBERNETES_LOGS: readonly string[] = ["/var/log/containers", "/var/log/pods"];
const KUBERNETES_FOLDERS: readonly string[] = [...KUBERNETES_LOGS, "/var/lib/docker/containers"];

const MAX_LINKS = 40;

/**
 * Returns the real path of a folder, as long as all links on the way belong to root or to the agent's own user. Others
 * could put the folder anywhere.
 */
async function trustedPath(folder: string): Promise<string> {
  const left = folder.split("/").filter(Boolean);
  let at = "/";
  for (let links = 0; left.length > 0; ) {
    const next = resolve(at, left.shift()!);
    const stats = await lstat(next);
    if (!stats.isSymbolicLink()) at = next;
    else if (++links > MAX_LINKS || (stats.uid !== 0 && stats.uid !== process.geteuid?.())) throw new Error(next);
    else {
      const target = resolve(dirname(next), await readlink(next));
      left.unshift(...target.split("/").filter(Boolean));
      at = "/";
    }
  }
  return at;
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}
