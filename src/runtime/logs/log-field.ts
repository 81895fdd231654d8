import type { LogEntry } from "./entries/log-entry.js";
import { isLogMap, type LogMap, type LogValue, newLogMap, ownValue, setValue } from "./entries/log-value.js";

/** A path in an entry: `body`, `attributes.a.b`, `resource["k8s.pod.name"]`. */
export class LogField {
  readonly root: "body" | "attributes" | "resource";
  readonly keys: readonly string[];

  constructor(root: LogField["root"], keys: readonly string[]) {
    this.root = root;
    this.keys = keys;
  }

  /** Throws an error that says what is wrong. A path that starts with none of the three is a part of the body. */
  static parse(text: string): LogField {
    const keys = splitField(text.startsWith("$.") ? `body${text.slice(1)}` : text.replace(/^\$/, "") || "body");
    const [first, ...rest] = keys as [string, ...string[]];
    if (first === "body" || first === "record") return new LogField("body", rest);
    if (first === "attributes" || first === "labels") return new LogField("attributes", rest);
    return first === "resource" ? new LogField("resource", rest) : new LogField("body", keys);
  }

  get isRoot(): boolean {
    return this.keys.length === 0;
  }

  get(entry: LogEntry): LogValue | undefined {
    let value: LogValue | undefined = entry[this.root];
    for (const key of this.keys) {
      if (!isLogMap(value)) return undefined;
      value = ownValue(value, key);
    }
    return value;
  }

  /** Sets a value; merges a map into an existing one. Throws if the value cannot be set. */
  set(entry: LogEntry, value: LogValue): void {
    if (isLogMap(value)) {
      const target = this.mapAt(entry, this.keys);
      for (const key of Object.keys(value)) setValue(target, key, value[key]!);
    } else if (this.isRoot) {
      if (this.root !== "body") throw new Error(`${this.root} can only be set to a map`);
      entry.body = value;
    } else setValue(this.mapAt(entry, this.keys.slice(0, -1)), this.keys.at(-1)!, value);
  }

  /** Merges a map that has no other owner. Adding to the larger of two maps is cheaper. */
  merge(entry: LogEntry, values: LogMap): void {
    if (this.root !== "attributes" || !this.isRoot) return this.set(entry, values);
    const before = entry.attributes;
    for (const key of Object.keys(before)) if (!Object.hasOwn(values, key)) setValue(values, key, before[key]!);
    entry.attributes = values;
  }

  /** Returns the removed value; undefined if there was none. */
  delete(entry: LogEntry): LogValue | undefined {
    const value = this.get(entry);
    if (value === undefined) return undefined;
    if (this.isRoot) {
      if (this.root === "body") entry.body = null;
      else if (this.root === "attributes") entry.attributes = newLogMap();
      else entry.resource = newLogMap();
      return value;
    }
    if (this.root === "resource") entry.ownResource();
    const parent = new LogField(this.root, this.keys.slice(0, -1)).get(entry) as LogMap;
    delete parent[this.keys.at(-1)!];
    return value;
  }

  child(key: string): LogField {
    return new LogField(this.root, [...this.keys, key]);
  }

  toString(): string {
    return this.root + this.keys.map((key) => (/^\w+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`)).join("");
  }

  /** The map at these keys. Other values on the way there are replaced by maps. */
  private mapAt(entry: LogEntry, keys: readonly string[]): LogMap {
    let map: LogMap;
    if (this.root === "body") {
      if (!isLogMap(entry.body)) entry.body = newLogMap();
      map = entry.body as LogMap;
    } else map = this.root === "attributes" ? entry.attributes : entry.ownResource();
    for (const key of keys) {
      let next = ownValue(map, key);
      if (!isLogMap(next)) {
        next = newLogMap();
        setValue(map, key, next);
      }
      map = next;
    }
    return map;
  }
}

function splitField(text: string): string[] {
  const keys: string[] = [];
  const part = /\.?([^.[\]]+)|\[(?:"([^"]*)"|'([^']*)')\]/y;
  for (let at = 0; at < text.length; at = part.lastIndex) {
    part.lastIndex = at;
    const found = part.exec(text);
    if (found === null) throw new Error(`not a field: ${text}; write attributes.name, attributes["a name"] or body`);
    keys.push(found[1] ?? found[2] ?? found[3]!);
  }
  if (keys.length === 0) throw new Error("expected a field such as body or attributes.name");
  return keys;
}
