import type { WireWriter } from "#otlp/bytes";
import { LOG_TIME_TAG } from "#otlp/tags";
import { type LayoutPart, parseGoLayout, parseLayout, parseTime } from "#text";
import type { LogEntry } from "./entries/log-entry.js";
import type { LogValue } from "./entries/log-value.js";
import { IsoTime } from "./iso-time.js";
import type { LogField } from "./log-field.js";

export const LAYOUT_TYPES = ["strptime", "gotime", "epoch", "native"] as const;
const EPOCH_LAYOUTS = ["s", "ms", "us", "ns", "s.ms", "s.us", "s.ns"];

interface TimeSettings {
  readonly parse_from: LogField;
  readonly layout: string;
  readonly layout_type: (typeof LAYOUT_TYPES)[number];
  readonly location: string;
  /** The place that an abbreviation of a time zone stands for. */
  readonly time_zone_locations?: Readonly<Record<string, string>> | undefined;
}

/** Reads the time of an entry from one of its fields. */
export class EntryTime {
  private readonly settings: TimeSettings;
  private readonly parts: readonly LayoutPart[] | undefined;
  private readonly location: string | undefined;
  private readonly places: ReadonlyMap<string, string | undefined>;
  private readonly isIso: boolean;
  private readonly iso = new IsoTime();

  /** Throws if the layout is invalid. */
  constructor(settings: TimeSettings) {
    this.settings = settings;
    const { layout, layout_type: type, location } = settings;
    if (type === "epoch" && !EPOCH_LAYOUTS.includes(layout))
      throw new Error(`the layout of an epoch is one of ${EPOCH_LAYOUTS.join(", ")}`);
    if (type === "strptime") this.parts = parseLayout(layout);
    else if (type === "gotime") this.parts = parseGoLayout(layout);
    // As in the Collector, a layout that ends with Z means UTC; other layouts without a zone mean the local one.
    this.location = readLocation(location || (layout.endsWith("Z") ? "UTC" : "Local"));
    const places = Object.entries(settings.time_zone_locations ?? {});
    if (places.length > 0 && !layout.includes(type === "gotime" ? "MST" : "%Z"))
      throw new Error(`time_zone_locations needs a layout with ${type === "gotime" ? "MST" : "%Z"}`);
    this.places = new Map(places.map(([letters, place]) => [letters, readLocation(place)]));
    this.isIso = ISO_LAYOUTS.has(layout);
  }

  /** The attribute whose text `write` reads; undefined if `read` is needed. */
  get attribute(): string | undefined {
    const { root, keys } = this.settings.parse_from;
    return this.isIso && root === "attributes" && keys.length === 1 ? keys[0] : undefined;
  }

  /**
   * Writes the time of a record from the text of `attribute`. For anything but a simple time writes nothing and returns
   * false.
   */
  write(writer: WireWriter, b: Uint8Array, from: number, to: number): boolean {
    const { iso } = this;
    if (!iso.read(b, from, to)) return false;
    writer.byte(LOG_TIME_TAG);
    writer.fixed64OfHalves(iso.low, iso.high);
    return true;
  }

  /** Throws if the field is missing or its time does not match the layout. */
  read(entry: LogEntry): void {
    const { parse_from: field, layout_type: type } = this.settings;
    const value = field.get(entry);
    if (value === undefined) throw new Error(`there is no ${field} to read the time from`);
    const time = type === "epoch" ? epochTime(value, this.settings.layout) : this.parse(value);
    entry.timestamp = time === NO_TIME ? undefined : time;
  }

  private parse(value: LogValue): bigint {
    if (value instanceof Uint8Array) return this.parse(Buffer.from(value).toString());
    if (typeof value !== "string") throw new Error(`a time is a string, not ${typeof value}`);
    if (this.isIso && value.length <= MAX_ISO_LENGTH) {
      const length = scratch.write(value, 0, "utf8");
      if (this.iso.read(scratch, 0, length)) return (BigInt(this.iso.high) << 32n) | BigInt(this.iso.low);
    }
    if (this.parts === undefined) throw new Error("layout_type native is not for texts");
    return parseTime(this.parts, value, this.locationOf(value), BigInt(Date.now()) * 1_000_000n).nanos;
  }

  /** The place of the first abbreviation in the text that has one. */
  private locationOf(text: string): string | undefined {
    if (this.places.size === 0) return this.location;
    const letters = (text.match(/\b[A-Z]{2,5}\b/g) ?? []).find((each) => this.places.has(each));
    return letters === undefined ? this.location : this.places.get(letters);
  }
}

/** The beginning of the year 1, which Go takes for no time. */
const NO_TIME = -62_135_596_800_000_000_000n;

/** Layouts under which `IsoTime` reads a time such as 2024-05-06T07:08:09.123Z correctly. */
const ISO_LAYOUTS = new Set([
  "%Y-%m-%dT%H:%M:%S.%LZ",
  "%Y-%m-%dT%H:%M:%S.%fZ",
  "%Y-%m-%dT%H:%M:%S.%sZ",
  "2006-01-02T15:04:05.999999999Z07:00",
  "2006-01-02T15:04:05.000Z07:00",
  "2006-01-02T15:04:05Z07:00",
  "2006-01-02T15:04:05.999Z",
]);

/** The length of a time with nanoseconds. */
const MAX_ISO_LENGTH = 30;
const scratch = Buffer.alloc(MAX_ISO_LENGTH * 3);

const NANOS: Readonly<Record<string, bigint>> = { s: 1_000_000_000n, ms: 1_000_000n, us: 1000n, ns: 1n };

function epochTime(value: LogValue, layout: string): bigint {
  const text = epochText(value, layout);
  const found = /^([+-]?\d+)(?:\.(\d+))?$/.exec(text.trim());
  const isFraction = layout.startsWith("s.");
  if (found === null || (found[2] !== undefined) !== isFraction)
    throw new Error(`${JSON.stringify(text.slice(0, 40))} does not match the layout ${layout}`);
  if (!isFraction) return BigInt(found[1]!) * NANOS[layout]!;
  return BigInt(found[1]!) * NANOS.s! + BigInt(found[2]!) * NANOS[layout.slice(2)]!;
}

function epochText(value: LogValue, layout: string): string {
  if (typeof value === "string") return value;
  const isFraction = layout.startsWith("s.");
  if (typeof value === "bigint") return isFraction ? `${value}.0` : String(value);
  if (typeof value !== "number") throw new Error("a time since the epoch is a number or a string");
  if (!isFraction) return String(BigInt(Math.trunc(value)));
  return value.toFixed({ "s.ms": 3, "s.us": 6, "s.ns": 9 }[layout]);
}

/** The IANA name of a place; undefined for UTC. Throws if there is no such place. */
function readLocation(name: string): string | undefined {
  const timeZone = name === "Local" ? Intl.DateTimeFormat().resolvedOptions().timeZone : name;
  if (timeZone === "UTC") return undefined;
  try {
    return Intl.DateTimeFormat("en-US", { timeZone }).resolvedOptions().timeZone;
  } catch {
    throw new Error(`there is no location ${JSON.stringify(name)}; write a name such as Europe/Berlin, UTC or Local`);
  }
}
