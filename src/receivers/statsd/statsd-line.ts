/** The type of a metric as lines write it. */
export type StatsdType = "c" | "g" | "h" | "ms" | "d";

const TYPE_NAMES: Readonly<Record<StatsdType, string>> = {
  c: "counter",
  g: "gauge",
  h: "histogram",
  ms: "timing",
  d: "distribution",
};

/** Everything that a line says besides its value. */
export interface StatsdDescription {
  readonly name: string;
  readonly type: StatsdType;
  /** Sorted by key. A key has the last value it was given. */
  readonly attributes: readonly (readonly [key: string, value: string])[];
  /** For how many samples the line stands. */
  readonly weight: number;
  /** The time in the line, in seconds. */
  readonly timeSeconds: number | undefined;
}

interface LineOptions {
  readonly metricType: boolean;
  readonly simpleTags: boolean;
}

/** At most this many tags are read of a line; a line with more is refused. */
const MAX_TAGS = 128;
/** Rates, tags, container and time come once each; more parts than this make no sense. */
const MAX_PARTS = 32;

/**
 * Reads a line without its value: `name|type|@rate|#tag:value,...|c:container|Ttime`. Returns a text that says why it
 * cannot be read. Nothing is thrown, because a hostile packet has thousands of lines and an error costs microseconds.
 */
export function parseDescription(text: string, options: LineOptions): StatsdDescription | string {
  const [name, type, ...parts] = text.split("|", MAX_PARTS) as [string, string, ...string[]];
  if (name === "") return "the name is empty";
  if (!isType(type)) return "the type is not c, g, h, ms or d";
  const attributes = new Map<string, string>();
  let weight = 1;
  let timeSeconds: number | undefined;
  for (const part of parts) {
    if (part === "") break;
    if (part.startsWith("@")) {
      const rate = statsdNumber(part.slice(1));
      if (Number.isNaN(rate)) return "the sample rate is not a number";
      weight = weightOf(rate);
    } else if (part.startsWith("#")) {
      const problem = addTags(part.slice(1), attributes, options.simpleTags);
      if (problem !== undefined) return problem;
    } else if (part.startsWith("c:")) {
      if (part.length > 2) attributes.set("container.id", part.slice(2));
    } else if (part.startsWith("T")) {
      if (type !== "c" && type !== "g") return "only counters and gauges may have a time";
      if (!/^T\d{1,11}$/.test(part)) return "the time is not a number of seconds";
      timeSeconds = Number(part.slice(1));
    } else return "it has a part that is not a rate, tags, container or time";
  }
  if (options.metricType) attributes.set("metric_type", TYPE_NAMES[type]);
  const sorted = [...attributes].sort(([a], [b]) => (a < b ? -1 : 1));
  return { name, type, attributes: sorted, weight, timeSeconds };
}

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Returns NaN for what is no finite number. */
export function statsdNumber(text: string): number {
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : Number.NaN;
}

function isType(text: string | undefined): text is StatsdType {
  return text !== undefined && Object.hasOwn(TYPE_NAMES, text);
}

/** Counts stay exact integers with this. */
const MAX_WEIGHT = 2 ** 40;

function weightOf(rate: number): number {
  return rate > 0 && rate < 1 ? Math.min(1 / rate, MAX_WEIGHT) : 1;
}

/** Returns what is wrong with the tags. */
function addTags(text: string, attributes: Map<string, string>, simpleTags: boolean): string | undefined {
  const tags = text.split(",", MAX_TAGS + 1);
  if (tags.length > MAX_TAGS) return `it has more than ${MAX_TAGS} tags`;
  for (const tag of tags) {
    if (tag === "") continue;
    const colon = tag.indexOf(":");
    const key = colon < 0 ? tag : tag.slice(0, colon);
    const value = colon < 0 ? "" : tag.slice(colon + 1);
    if (key === "") return "a tag has no key";
    if (value === "" && !simpleTags) return "a tag has no value; enable_simple_tags would accept that";
    attributes.set(key, value);
  }
  return undefined;
}
