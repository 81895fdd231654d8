import { statSync } from "node:fs";
import { type LoadedConfig, readTextFile } from "#config";
import type { ResolvedConfig } from "#config/resolve";
import type { RemoteConfigFile } from "#contract/operations";
import { fileHash } from "#system";
import type { ConfigSnapshot, RehearsalTask } from "./child-frames.js";

type LoadWatched = (onFile: (file: string) => void, readFile: (path: string) => string) => Promise<LoadedConfig>;

/**
 * Remembers what each config was loaded from. A rehearsal loads the running config from that again, because its files
 * may have changed since. The texts are forgotten together with the config.
 */
export class ConfigSnapshots {
  private hasLoaded = false;
  private readonly snapshots = new WeakMap<ResolvedConfig, ConfigSnapshot>();

  /** Loads a config. `load` calls `onFile` with every file that it uses, and reads texts with `readFile`. */
  async load(remoteFiles: readonly RemoteConfigFile[], load: LoadWatched): Promise<LoadedConfig> {
    const files: Record<string, string> = {};
    const used = new Set<string>();
    const readFile = (path: string) => {
      if (this.hasLoaded) refusePipe(path);
      const text = readTextFile(path);
      files[path] = text;
      return text;
    };
    const loaded = await load((file) => used.add(file), readFile);
    this.hasLoaded = true;
    const plugins = [...used].filter((path) => !Object.hasOwn(files, path));
    const hashes = Object.fromEntries(plugins.map((path) => [path, fileHash(path) ?? ""]));
    if (loaded.config !== undefined) this.snapshots.set(loaded.config, { files, plugins: hashes, remoteFiles });
    return loaded;
  }

  /** Returns the texts that the config was loaded from; undefined if it was not loaded here. */
  of(config: ResolvedConfig): ConfigSnapshot | undefined {
    return this.snapshots.get(config);
  }

  /** Returns the task of a rehearsal while this config runs; undefined if the config was not loaded here. */
  task(
    running: ResolvedConfig,
    values: Readonly<Record<string, unknown>>,
    remoteFiles: readonly RemoteConfigFile[],
  ): RehearsalTask | undefined {
    const before = this.of(running);
    const [config = [], set = []] = [values["config"], values["set"]] as (readonly string[] | undefined)[];
    return before && { config, set, remoteFiles, before };
  }
}

/** Reads the texts of a snapshot in place of their files. */
export function snapshotReader({ files }: ConfigSnapshot): (path: string) => string {
  return (path) => {
    const text = files[path];
    if (text !== undefined) return text;
    throw Object.assign(new Error(`${path} was not part of the config`), { code: "ENOENT" });
  };
}

/** Those of the files whose content has another hash by now. */
export function changedFiles(hashes: Readonly<Record<string, string>>): string[] {
  return Object.keys(hashes).filter((path) => (fileHash(path) ?? "") !== hashes[path]);
}

/** A pipe gives its text once, as in `--config <(command)`. A second read would make a running agent wait. */
function refusePipe(path: string): void {
  const stats = statSync(path);
  if (!stats.isFile() && !stats.isDirectory())
    throw new Error("it is a pipe or a device, which the agent can read only at its start");
}
