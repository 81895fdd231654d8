/**
 * Converts OTLP names to Prometheus names by the rules of OpenTelemetry's compatibility specification, with the
 * Collector's results. The unit tables work in both directions: receivers of Prometheus metrics use them backwards.
 */

/** Kinds of metrics whose names differ. */
export type MetricKind = "gauge" | "counter" | "other";

export interface PrometheusNameRules {
  /** The prefix of every name. */
  readonly namespace: string;
  /** Whether to append the unit, and `_total` or `_ratio`. */
  readonly addSuffixes: boolean;
  /** Whether to keep characters that Prometheus 2 does not allow in names. */
  readonly allowUtf8: boolean;
  /** Whether names of labels get one underscore for several characters, and never begin with one. */
  readonly joinsUnderscores?: boolean;
}

/** The config's names for combinations of these rules. */
export const TRANSLATION_STRATEGIES = [
  "UnderscoreEscapingWithSuffixes",
  "UnderscoreEscapingWithoutSuffixes",
  "NoUTF8EscapingWithSuffixes",
  "NoTranslation",
] as const;

type TranslationStrategy = (typeof TRANSLATION_STRATEGIES)[number];

export function nameRules(
  namespace: string,
  addSuffixes: boolean,
  strategy: TranslationStrategy | undefined,
): PrometheusNameRules {
  if (strategy === undefined) return { namespace, addSuffixes, allowUtf8: false };
  const isPlain = strategy.startsWith("Underscore");
  const hasSuffixes = strategy.endsWith("WithSuffixes");
  return { namespace, addSuffixes: hasSuffixes, allowUtf8: !isPlain };
}

/** The name of a metric; empty if no character of it can stay. */
export function metricName(name: string, unit: string, kind: MetricKind, rules: PrometheusNameRules): string {
  if (rules.allowUtf8) return utf8Name(name, unit, kind, rules);
  if (!rules.addSuffixes) return bareName(name, rules.namespace);
  const tokens = name.split(/[^A-Za-z0-9:]+/).filter(Boolean);
  const [main, per] = unitWords(unit);
  if (main !== "" && !tokens.includes(main)) tokens.push(main);
  if (per !== "" && !tokens.includes(`per_${per}`)) tokens.push(`per_${per}`);
  const word = kindSuffix(unit, kind);
  const whole = word === undefined ? tokens : [...tokens.filter((token) => token !== word), word];
  const joined = [...(rules.namespace === "" ? [] : [rules.namespace]), ...whole].join("_");
  return orEmpty(/^[0-9]/.test(joined) ? `_${joined}` : joined);
}

/** `_total` for counters; `_ratio` for dimensionless gauges. */
function kindSuffix(unit: string, kind: MetricKind): string | undefined {
  if (kind === "counter") return "total";
  return unit === "1" && kind === "gauge" ? "ratio" : undefined;
}

function bareName(name: string, namespace: string): string {
  const clean = (text: string) =>
    text
      .split(/[^A-Za-z0-9:_]+/)
      .filter(Boolean)
      .join("_");
  const bare = clean(name);
  if (namespace !== "") return orEmpty(`${clean(namespace)}_${bare}`);
  return orEmpty(/^[0-9]/.test(bare) ? `_${bare}` : bare);
}

function utf8Name(
  name: string,
  unit: string,
  kind: MetricKind,
  { namespace, addSuffixes }: PrometheusNameRules,
): string {
  let whole = namespace === "" ? name : `${namespace}_${name}`;
  if (!addSuffixes) return whole;
  const [main, per] = unitWords(unit);
  const suffixes = [per === "" ? undefined : `per_${per}`, kindSuffix(unit, kind)].filter((each) => each !== undefined);
  for (const suffix of suffixes.toReversed()) {
    if (whole.endsWith(suffix) && whole.length > suffix.length + 1) whole = whole.slice(0, -suffix.length - 1);
  }
  if (main !== "" && !whole.endsWith(main)) whole = `${whole}_${main}`;
  return [whole, ...suffixes].join("_");
}

function orEmpty(name: string): string {
  return /^_*$/.test(name) ? "" : name;
}

/** The name of a label; empty if no character of it can stay. */
export function labelName(
  name: string,
  { allowUtf8, joinsUnderscores }: Pick<PrometheusNameRules, "allowUtf8" | "joinsUnderscores">,
): string {
  if (!allowUtf8 && joinsUnderscores) return joinedName(name);
  const clean = allowUtf8 ? name : name.replace(/[^A-Za-z0-9_]/gu, "_");
  if (/^_*$/.test(clean)) return "";
  if (!allowUtf8 && /^[0-9]/.test(clean)) return `key_${clean}`;
  return clean;
}

/** Reserved names keep the underscores around them. */
function joinedName(name: string): string {
  const [, reserved] = /^__(.+)__$/su.exec(name) ?? [];
  const clean = (reserved ?? name).replace(/[^A-Za-z0-9]+/gu, "_");
  if (/^_*$/.test(clean)) return "";
  if (reserved !== undefined) return `__${clean}__`;
  if (clean.startsWith("_")) return `key${clean}`;
  return /^[0-9]/.test(clean) ? `key_${clean}` : clean;
}

/** UCUM symbols and Prometheus's words for them. */
const UNIT_WORDS: Readonly<Record<string, string>> = {
  d: "days",
  h: "hours",
  min: "minutes",
  s: "seconds",
  ms: "milliseconds",
  us: "microseconds",
  ns: "nanoseconds",
  By: "bytes",
  KiBy: "kibibytes",
  MiBy: "mebibytes",
  GiBy: "gibibytes",
  TiBy: "tibibytes",
  KBy: "kilobytes",
  MBy: "megabytes",
  GBy: "gigabytes",
  TBy: "terabytes",
  m: "meters",
  V: "volts",
  A: "amperes",
  J: "joules",
  W: "watts",
  g: "grams",
  Cel: "celsius",
  Hz: "hertz",
  "1": "",
  "%": "percent",
};

/** Words for the unit after a slash. */
const PER_UNIT_WORDS: Readonly<Record<string, string>> = {
  s: "second",
  m: "minute",
  h: "hour",
  d: "day",
  w: "week",
  mo: "month",
  y: "year",
};

/** A unit in words, such as `bytes_per_second`; empty if it has none. */
export function unitName(unit: string): string {
  const [main, per] = unitWords(unit);
  return [main, per === "" ? "" : `per_${per}`].filter(Boolean).join("_");
}

/** The UCUM unit for such words; unknown words stay unchanged. */
export function ucumUnit(words: string): string {
  const [main = "", per] = words.split(/_?per_/);
  const symbol = SYMBOLS.get(main) ?? main;
  return per === undefined ? symbol : `${symbol}/${PER_SYMBOLS.get(per) ?? per}`;
}

/** Maps each word to the first symbol that has it. An empty word is not a unit. */
function symbolsByWord(words: Readonly<Record<string, string>>): Map<string, string> {
  return new Map(Object.entries(words).flatMap(([symbol, word]) => (word === "" ? [] : [[word, symbol] as const])));
}

const SYMBOLS = symbolsByWord(UNIT_WORDS).set("ratio", "1");
const PER_SYMBOLS = symbolsByWord(PER_UNIT_WORDS);

function unitWords(unit: string): [main: string, per: string] {
  const slash = unit.indexOf("/");
  const main = slash < 0 ? unit : unit.slice(0, slash);
  const per = slash < 0 ? "" : unit.slice(slash + 1);
  return [unitWord(main.trim(), UNIT_WORDS), unitWord(per.trim(), PER_UNIT_WORDS)];
}

/** An annotation in braces is not a unit. */
function unitWord(symbol: string, words: Readonly<Record<string, string>>): string {
  if (/[{}]/.test(symbol)) return "";
  const word = Object.hasOwn(words, symbol) ? words[symbol]! : symbol;
  return word
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
    .join("_");
}
