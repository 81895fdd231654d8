import { createHash } from "node:crypto";
import { formatTime, type LayoutPart, parseStrftime, zoneAtInstant } from "#text";
import type { Signal } from "../../plugin.js";

/** How objects are named, as in the Collector's exporter for S3. */
export interface ObjectNameSettings {
  /** Folders in front of all others. */
  readonly basePrefix: string;
  readonly prefix: string;
  /** A format of strftime. */
  readonly partitionFormat: string;
  /** "" is the time zone of the machine. */
  readonly timezone: string;
  readonly filePrefix: string;
  /** Such as `json.gz`, without a leading dot. */
  readonly extension: string;
  readonly uniqueKey: "hash" | "uuidv7";
}

/** The records that an object is made of. */
interface NamedRecords {
  readonly signal: Signal;
  /** The same for every attempt to store these records. */
  readonly key: string;
  /** When the first of them came, in milliseconds since the epoch. */
  readonly at: number;
  /** Takes the place of the configured prefix, unless it is empty. */
  readonly prefix?: string | undefined;
}

const HASH_LENGTH = 24;

/**
 * Names of objects: `<prefixes>/<partition>/<file_prefix><signal>_<unique>.<extension>`. They depend only on the config
 * and the records, so an object that is stored again replaces itself.
 */
export class ObjectNames {
  private readonly settings: ObjectNameSettings;
  private readonly layout: readonly LayoutPart[];

  constructor(settings: ObjectNameSettings) {
    this.settings = settings;
    this.layout = parseStrftime(settings.partitionFormat);
  }

  nameOf({ signal, key, at, prefix }: NamedRecords): string {
    const { basePrefix, timezone, filePrefix, extension, uniqueKey } = this.settings;
    const time = { nanos: BigInt(Math.floor(at)) * 1_000_000n, zone: zoneAtInstant(timezone, at) };
    const hash = createHash("sha256").update(key).digest();
    const unique = uniqueKey === "uuidv7" ? uuidOf(hash, at) : hash.toString("hex").slice(0, HASH_LENGTH);
    const file = `${filePrefix}${signal}_${unique}.${extension}`;
    const folders = [basePrefix, prefix || this.settings.prefix, formatTime(this.layout, time)];
    return cleanPath([...folders.filter((folder) => folder !== ""), file].join("/"));
  }
}

/** A prefix may come from records, so it must not lead out of its folder. Control characters have no place in a name. */
function cleanPath(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== "." && part !== "..");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are replaced
  return (path.startsWith("/") ? "/" : "") + parts.join("/").replace(/[\u0000-\u001f\u007f]/g, "_");
}

/** A UUID of version 7 whose random part is a hash. */
function uuidOf(hash: Buffer, at: number): string {
  const bytes = Buffer.from(hash.subarray(0, 16));
  bytes.writeUIntBE(Math.max(0, Math.floor(at)), 0, 6);
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
