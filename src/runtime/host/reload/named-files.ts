import type { LoadedConfig } from "#config";
import type { ComponentSpec, ResolvedConfig } from "#config/resolve";
import { fileHash } from "#system";

/** Keys of files that a component reads when it starts and not again. Files with tokens and passwords are read again. */
const READ_ONCE: ReadonlySet<string> = new Set(
  "ca_file cert_file key_file client_ca_file issuer_ca_path nkey_file creds_file".split(" "),
);

interface NamedFile {
  /** The path of the key in the component's config, such as `tls.cert_file`. */
  readonly key: string;
  readonly file: string;
}

/** The files that a component's config names and that it reads only once. */
export function filesReadOnce(written: unknown, path: readonly string[] = []): NamedFile[] {
  if (typeof written !== "object" || written === null) return [];
  const keys = Object.entries(written);
  const isReloaded = keys.some(([key]) => key === "reload_interval"); // then the files beside it are read again
  return keys.flatMap(([key, value]) => {
    if (typeof value !== "string") return filesReadOnce(value, [...path, key]);
    return READ_ONCE.has(key) && !isReloaded && value !== "" ? [{ key: [...path, key].join("."), file: value }] : [];
  });
}

/** Notes the contents of these files, so that a reload finds those that have changed. `onFile` is called with each. */
export function withFileVersions(loaded: LoadedConfig, onFile: (file: string) => void): LoadedConfig {
  const { config } = loaded;
  if (config === undefined) return loaded;
  const fileVersions = new Map<string, string>();
  for (const { file } of specsOf(config).flatMap(({ written }) => filesReadOnce(written))) {
    onFile(file);
    fileVersions.set(file, fileHash(file) ?? "unreadable");
  }
  // A copy would compute the config's generation, which takes longer than everything else here.
  return { ...loaded, config: Object.assign(config, { fileVersions }) };
}

function specsOf({ receivers, processors, exporters, connectors, extensions }: ResolvedConfig) {
  const all: readonly ReadonlyMap<string, ComponentSpec<unknown>>[] = [
    receivers,
    processors,
    exporters,
    connectors,
    extensions,
  ];
  return all.flatMap((specs) => [...specs.values()]);
}
