import type { Signal } from "#otlp/signals";

type ArchiveFormat = "otlp_proto" | "otlp_json" | "body";

/** The content of an archived object, as its name tells. */
export interface ObjectName {
  readonly signal: Signal;
  readonly format: ArchiveFormat;
  readonly compression: "gzip" | "zstd" | undefined;
}

/** `<file_prefix><signal>_<unique>.<format>[.<compression>]`, as the Collector's exporter `awss3` names objects. */
// At most 1,024 characters, because it is a part of a key in S3 or of a path.
const NAME = /^(.*)(logs|traces|metrics)_[^/]*?\.(json|binpb|txt|body)(?:\.(gz|zst))?$/s;
const FORMATS = { json: "otlp_json", binpb: "otlp_proto", txt: "body", body: "body" } as const;
const COMPRESSIONS = { gz: "gzip", zst: "zstd" } as const;

/**
 * Reads the last part of a key. Undefined for objects that no exporter of ours or of the Collector has written, and, if
 * `filePrefix` is given, for those with another prefix.
 */
export function parseObjectName(key: string, filePrefix?: string): ObjectName | undefined {
  const [, prefix, signal, format, compression] = NAME.exec(key.slice(key.lastIndexOf("/") + 1)) ?? [];
  if (signal === undefined || (filePrefix !== undefined && prefix !== filePrefix)) return undefined;
  const name = { signal: signal as Signal, format: FORMATS[format as keyof typeof FORMATS] };
  if (name.format === "body" && signal !== "logs") return undefined;
  return { ...name, compression: compression && COMPRESSIONS[compression as keyof typeof COMPRESSIONS] } as ObjectName;
}
