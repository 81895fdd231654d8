import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { compress } from "../../../src/runtime/codecs/compression/compress.js";
import type { Batch } from "../../../src/runtime/otlp/batch.js";
import { batchToJson } from "../../../src/runtime/otlp/json/batch-json.js";
import { logs } from "./batches.js";

export type ArchiveCompression = "none" | "gzip" | "zstd";

/** The key of an object as the Collector's exporter awss3 names it. */
export function archiveKey(at: number, name: string, prefix = ""): string {
  const [year, month, day, hour, minute] = new Date(at).toISOString().split(/[-T:]/);
  return `${prefix}year=${year}/month=${month}/day=${day}/hour=${hour}/minute=${minute}/${name}`;
}

const SUFFIX = { none: "", gzip: ".gz", zstd: ".zst" } as const;

/** An object with these log records, as the exporter writes it. */
export async function logObject(
  name: string,
  bodies: readonly string[],
  format: "otlp_proto" | "otlp_json" | "body" = "otlp_proto",
  compression: ArchiveCompression = "none",
): Promise<{ name: string; bytes: Buffer }> {
  const batch = logs(...bodies);
  const plain = plainBytes(batch, bodies, format);
  const packed =
    compression === "none"
      ? plain
      : compression === "gzip"
        ? gzipSync(plain)
        : Buffer.from(await compress("zstd", plain));
  const ending = { otlp_proto: "binpb", otlp_json: "json", body: "txt" }[format];
  return { name: `logs_${name}.${ending}${SUFFIX[compression]}`, bytes: packed };
}

function plainBytes(batch: Batch, bodies: readonly string[], format: string): Buffer {
  if (format === "body") return Buffer.from(bodies.map((body) => `${body}\n`).join(""));
  return Buffer.from(format === "otlp_json" ? batchToJson(batch) : batch.bytes);
}

export function writeObject(folder: string, key: string, bytes: Uint8Array): void {
  const path = join(folder, key);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
}
