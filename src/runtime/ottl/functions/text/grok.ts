import { toBool, toDouble, toInt } from "../../values/conversions.js";
import { OttlError } from "../../values/error.js";
import type { OttlMap, OttlValue } from "../../values/value.js";
import { GROK_FIREWALL_PATTERNS } from "./grok-firewall-patterns.js";
import { GROK_LOG_PATTERNS } from "./grok-log-patterns.js";
import { GROK_PATTERNS } from "./grok-patterns.js";
import { GROK_SERVICE_PATTERNS } from "./grok-service-patterns.js";
import { compilePattern, MAX_PATTERN_LENGTH } from "./pattern.js";

const MAX_DEPTH = 20;

const BUILT_IN: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...GROK_PATTERNS,
    ...GROK_LOG_PATTERNS,
    ...GROK_FIREWALL_PATTERNS,
    ...GROK_SERVICE_PATTERNS,
  }),
);

interface Capture {
  readonly name: string;
  readonly type: string | undefined;
}

/**
 * A grok pattern: a pattern in which %{NAME}, %{NAME:field} and %{NAME:field:type} stand for other patterns. Throws if
 * it is invalid. Group names of grok may contain dots and other characters, so captures are found by index.
 */
export function grokPattern(
  text: string,
  namedOnly: boolean,
  definitions: readonly string[],
): (target: string) => OttlMap {
  const customPatterns = new Map(definitions.map(parseDefinition));
  const captures: Capture[] = [];
  const regex = new GrokExpander(customPatterns, captures, namedOnly).expand(text, 0);
  if (captures.length === 0 && namedOnly) throw new OttlError("the pattern names nothing to extract");
  const pattern = compilePattern(regex);
  return (target) => {
    const map: OttlMap = new Map();
    const groups = pattern.groups(target);
    if (groups === undefined) return map;
    captures.forEach(({ name, type }, i) => {
      const found = groups[groupName(i)];
      if (found) map.set(name, convertCapture(found, name, type));
    });
    return map;
  };
}

/** Parses a custom pattern, `NAME=pattern`. Throws if it is not in this form. */
export function parseDefinition(text: string): [name: string, pattern: string] {
  const at = text.indexOf("=");
  if (at <= 0 || text.slice(0, at).includes(":"))
    throw new OttlError(`a pattern is defined as NAME=pattern, not ${JSON.stringify(text.slice(0, 40))}`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

function groupName(index: number): string {
  return `g${index}`;
}

class GrokExpander {
  private readonly customPatterns: ReadonlyMap<string, string>;
  private readonly captures: Capture[];
  private readonly namedOnly: boolean;
  private length = 0;

  constructor(customPatterns: ReadonlyMap<string, string>, captures: Capture[], namedOnly: boolean) {
    this.customPatterns = customPatterns;
    this.captures = captures;
    this.namedOnly = namedOnly;
  }

  expand(text: string, depth: number): string {
    if (depth > MAX_DEPTH) throw new OttlError("the patterns refer to each other in a circle");
    this.length += text.length;
    if (this.length > MAX_PATTERN_LENGTH) throw new OttlError("the pattern is too long");
    // Linear: a name ends before the next character that begins one.
    return text.replace(/%\{(\w+)(?::([^:}]+))?(?::(\w+))?\}|\(\?P?<([^<>=!]+)>/g, (_, name, field, type, group) => {
      if (group !== undefined) return `(?P<${this.capture(group, undefined)}>`;
      const pattern = this.customPatterns.get(name) ?? BUILT_IN.get(name);
      if (pattern === undefined) throw new OttlError(`no such grok pattern: ${name}`);
      const captureName = field ?? (this.namedOnly ? undefined : name);
      const opening = captureName === undefined ? "(?:" : `(?P<${this.capture(captureName, type)}>`;
      return `${opening}${this.expand(pattern, depth + 1)})`;
    });
  }

  private capture(name: string, type: string | undefined): string {
    if (type !== undefined && !Object.hasOwn(CAPTURE_TYPES, type))
      throw new OttlError(`no such type: ${type}; there are ${Object.keys(CAPTURE_TYPES).join(", ")}`);
    this.captures.push({ name, type });
    return groupName(this.captures.length - 1);
  }
}

const CAPTURE_TYPES: Readonly<Record<string, (text: string) => OttlValue>> = {
  string: (text) => text,
  int: toInt,
  long: toInt,
  float: toDouble,
  double: toDouble,
  bool: toBool,
  boolean: toBool,
};

function convertCapture(text: string, name: string, type = "string"): OttlValue {
  const value = CAPTURE_TYPES[type]!(text);
  if (value === null) throw new OttlError(`${JSON.stringify(text.slice(0, 40))} of ${name} is not of the type ${type}`);
  return value;
}
