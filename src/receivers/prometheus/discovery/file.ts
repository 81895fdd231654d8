import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parse } from "yaml";
import type { Labels } from "../relabel.js";
import { readTargetGroups, targetsOf } from "./discovery.js";
import { type DiscoveryServices, PolledDiscovery } from "./polled-discovery.js";

/** Files are checked this often, or every `refresh_interval` if that is shorter: a check costs very little. */
const LOOK_MS = 5000;
const MAX_FILE_BYTES = 64 * 1024 * 1024;

interface KnownFile {
  readonly stamp: string;
  readonly targets: readonly Labels[];
}

/**
 * Reads targets from JSON and YAML files. A file that cannot be read keeps its last targets; a deleted file has none.
 */
export class FileDiscovery extends PolledDiscovery {
  private readonly patterns: readonly string[];
  private known = new Map<string, KnownFile>();

  constructor(patterns: readonly string[], refreshMs: number, services: DiscoveryServices) {
    super(Math.min(refreshMs, LOOK_MS), services);
    this.patterns = patterns;
  }

  protected override async find(): Promise<readonly Labels[]> {
    const files = new Set((await Promise.all(this.patterns.map(matchingFiles))).flat());
    const now = new Map<string, KnownFile>();
    for (const file of [...files].sort()) {
      const known = await this.read(file).catch((error: unknown) => {
        this.services.onError(file, error);
        return this.known.get(file);
      });
      if (known !== undefined) now.set(file, known);
    }
    this.known = now;
    return [...now.values()].flatMap(({ targets }) => targets);
  }

  private async read(file: string): Promise<KnownFile> {
    const { mtimeMs, size, ino } = await stat(file);
    const stamp = `${mtimeMs} ${size} ${ino}`;
    const before = this.known.get(file);
    if (before?.stamp === stamp) return before;
    if (size > MAX_FILE_BYTES) throw new Error("the file is larger than 64 MiB");
    const text = await readFile(file, "utf8");
    const value: unknown = file.endsWith(".json") ? JSON.parse(text) : parse(text);
    return { stamp, targets: targetsOf(readTargetGroups(value), { __meta_filepath: file }) };
  }
}

/** As in Prometheus, the file name may contain a star. */
async function matchingFiles(pattern: string): Promise<string[]> {
  const name = basename(pattern);
  if (!name.includes("*")) return [pattern];
  const [before = "", after = ""] = name.split("*");
  const names = await readdir(dirname(pattern)).catch(() => []);
  const isMatch = (each: string) =>
    each.length >= before.length + after.length && each.startsWith(before) && each.endsWith(after);
  return names.filter(isMatch).map((each) => join(dirname(pattern), each));
}
