import { ByteTable } from "#metrics";
import type { MetadataKind } from "../exposition/exposition-reader.js";
import { ExpositionError, unescaped } from "../exposition/series-text.js";

/** The types of OpenMetrics, and native histograms. Format 0.0.4 has some of them and says `untyped` for the first. */
const FAMILY_TYPES = [
  "unknown",
  "gauge",
  "counter",
  "histogram",
  "summary",
  "gaugehistogram",
  "info",
  "stateset",
  "nativehistogram",
] as const;

export type ScrapedType = (typeof FAMILY_TYPES)[number];

/** The role of a series in its metric. */
export type SeriesRole = "value" | "bucket" | "sum" | "count" | "quantile" | "created" | "native";

/** Roles of a family's series by the suffix after the family's name, for each type. */
const ROLES: Readonly<Record<ScrapedType, Readonly<Record<string, SeriesRole>>>> = {
  unknown: { "": "value" },
  gauge: { "": "value" },
  counter: { "": "value", _total: "value", _created: "created" },
  histogram: { _bucket: "bucket", _sum: "sum", _count: "count", _created: "created" },
  summary: { "": "quantile", _sum: "sum", _count: "count", _created: "created" },
  gaugehistogram: { _bucket: "value", _gsum: "value", _gcount: "value" },
  info: { "": "value", _info: "value" },
  stateset: { "": "value" },
  nativehistogram: { "": "native" },
};

/** Metadata about the series of one name. */
export class Family {
  readonly slot: number;
  readonly name: string;
  type: ScrapedType = "unknown";
  help = "";
  unit = "";
  /** Increases when help or unit change. */
  version = 0;
  /** The last scrape that had metadata for this family. */
  seen = -1;
  /** The number of cached series that belong to it. */
  lines = 0;
  private helpBytes: Uint8Array = new Uint8Array();

  constructor(slot: number, name: string) {
    this.slot = slot;
    this.name = name;
  }

  /** Identifies the family together with its type, so series cached under another type do not match. Never 0. */
  get context(): number {
    return this.slot * FAMILY_TYPES.length + FAMILY_TYPES.indexOf(this.type) + 1;
  }

  role(suffix: string): SeriesRole | undefined {
    const roles = ROLES[this.type];
    return Object.hasOwn(roles, suffix) ? roles[suffix] : undefined;
  }

  setHelp(b: Uint8Array, start: number, end: number): void {
    const known = this.helpBytes;
    let same = known.length === end - start;
    for (let i = 0; same && i < known.length; i++) same = known[i] === b[start + i];
    if (same) return;
    this.helpBytes = Uint8Array.from(b.subarray(start, end));
    this.help = unescaped(b, start, end);
    this.version++;
  }

  setUnit(unit: string): void {
    if (unit === this.unit) return;
    this.unit = unit;
    this.version++;
  }
}

/** The slot of a context's family. */
export function familySlot(context: number): number {
  return Math.floor((context - 1) / FAMILY_TYPES.length);
}

/** The metadata of a target's families, by name. */
export class Families {
  /** True until this scrape has declared a family. */
  hasNoDeclarations = true;
  private readonly table = new ByteTable();
  private readonly families: (Family | undefined)[] = [];
  private scrape = -1;

  get size(): number {
    return this.table.size;
  }

  begin(scrape: number): void {
    this.scrape = scrape;
    this.hasNoDeclarations = true;
  }

  /** The family of a slot, if this scrape has declared it. */
  declared(slot: number): Family | undefined {
    const family = this.families[slot];
    return family?.seen === this.scrape ? family : undefined;
  }

  /** Called when a cached series of the family is removed from the cache. */
  release(slot: number): void {
    this.families[slot]!.lines--;
  }

  find(b: Uint8Array, start: number, end: number): Family | undefined {
    const slot = this.table.find(0, b, start, end);
    return slot < 0 ? undefined : this.declared(slot);
  }

  declare(kind: MetadataKind, b: Uint8Array, nameStart: number, nameEnd: number, start: number, end: number): void {
    const family = this.familyOf(b, nameStart, nameEnd);
    if (family.seen !== this.scrape) {
      // A type holds only for the scrape that states it; help and unit keep their last values.
      if (kind !== "type" && kind !== "native") family.type = "unknown";
      family.seen = this.scrape;
      this.hasNoDeclarations = false;
    }
    if (kind === "type") family.type = familyType(b, start, end);
    else if (kind === "native") family.type = NATIVE;
    else if (kind === "help") family.setHelp(b, start, end);
    else family.setUnit(unescaped(b, start, end));
  }

  /** Forgets families that this scrape did not declare and that have no cached series. */
  sweep(): void {
    for (const [slot, family] of this.families.entries()) {
      if (family === undefined || family.lines > 0 || family.seen === this.scrape) continue;
      this.table.remove(slot);
      this.families[slot] = undefined;
    }
  }

  private familyOf(b: Uint8Array, start: number, end: number): Family {
    const found = this.table.find(0, b, start, end);
    if (found >= 0) return this.families[found]!;
    const slot = this.table.add(0, b, start, end);
    const family = new Family(slot, unescaped(b, start, end));
    this.families[slot] = family;
    return family;
  }
}

const NATIVE = "nativehistogram";

function familyType(b: Uint8Array, start: number, end: number): ScrapedType {
  const word = Buffer.from(b.buffer, b.byteOffset + start, end - start)
    .toString("latin1")
    .trim();
  if (word === "untyped") return "unknown";
  if (word !== NATIVE && (FAMILY_TYPES as readonly string[]).includes(word)) return word as ScrapedType;
  throw new ExpositionError(`there is no type ${JSON.stringify(word.slice(0, 40))}`);
}
