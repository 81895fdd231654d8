import { readdir, rename, unlink } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";

/**
 * Manages rotated files: `logs.json` becomes `logs-2026-01-31T23-59-58.123.json` in the same directory. The names sort
 * by time, and a new name always comes after the existing ones, whatever the clock does. Files without exactly such a
 * name are never touched.
 */
export interface Backups {
  /** Moves the file to the backups, and returns its new path. */
  add(): Promise<string>;
  /** Deletes backups beyond the limits. */
  prune(): Promise<void>;
}

interface BackupLimits {
  readonly maxBackups: number;
  readonly maxDays: number;
  readonly localTime: boolean;
}

const STAMP_PATTERN = /^(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2}\.\d{3})$/;
const DAY_MS = 86_400_000;

export function createBackups(path: string, limits: BackupLimits, now: () => number): Backups {
  const directory = dirname(path);
  const extension = extname(path);
  const prefix = `${basename(path, extension)}-`;

  /** Returns the times of the backups, oldest first. */
  async function stamps(): Promise<number[]> {
    const names = await readdir(directory);
    const found = names.map((name) => parseStamp(name, prefix, extension)).filter((stamp) => stamp !== undefined);
    return found.sort((a, b) => a - b);
  }

  const pathOf = (stamp: number) => join(directory, `${prefix}${stampText(stamp)}${extension}`);
  const wallClock = () => (limits.localTime ? localStamp(now()) : now());

  return {
    async add() {
      const newest = (await stamps()).at(-1) ?? Number.NEGATIVE_INFINITY;
      const target = pathOf(Math.max(wallClock(), newest + 1));
      await rename(path, target);
      return target;
    },

    async prune() {
      const all = await stamps();
      const tooMany = limits.maxBackups > 0 ? all.length - limits.maxBackups : 0;
      const oldest = limits.maxDays > 0 ? wallClock() - limits.maxDays * DAY_MS : Number.NEGATIVE_INFINITY;
      const expired = all.filter((stamp, index) => index < tooMany || stamp < oldest);
      await Promise.all(expired.map((stamp) => unlink(pathOf(stamp))));
    },
  };
}

/** `stamp` is in milliseconds. A local time is passed as if the wall clock showed UTC. */
export function stampText(stamp: number): string {
  return new Date(stamp).toISOString().slice(0, -1).replaceAll(":", "-");
}

function parseStamp(name: string, prefix: string, extension: string): number | undefined {
  if (!name.startsWith(prefix) || !name.endsWith(extension)) return undefined;
  const match = STAMP_PATTERN.exec(name.slice(prefix.length, name.length - extension.length));
  const stamp = match ? Date.parse(`${match[1]}T${match[2]}:${match[3]}:${match[4]}Z`) : Number.NaN;
  return Number.isNaN(stamp) ? undefined : stamp;
}

function localStamp(ms: number): number {
  return ms - new Date(ms).getTimezoneOffset() * 60_000;
}
