import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseAllDocuments,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";

/**
 * Edits a YAML text at the offsets of its nodes. Everything else stays as written, including comments and whitespace.
 * Functions return undefined for syntax that they cannot change safely.
 */
export interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export type TextPair = Pair<Scalar, Node | null>;

/** The document that is read: the first one that is a map. */
export function firstDocument(text: string): Document.Parsed | undefined {
  const parsed = parseAllDocuments(text, { uniqueKeys: false, prettyErrors: false });
  const documents = Array.isArray(parsed) ? (parsed as Document.Parsed[]) : [];
  return documents.find(({ contents }) => isMap(contents));
}

/** Duplicate edits are applied once: aliases can produce the same edit several times. */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  const unique = new Map(edits.map((edit) => [`${edit.start} ${edit.end} ${edit.text}`, edit]));
  // Two edits at the same offset keep their order.
  const sorted = [...unique.values()].toSorted((a, b) => a.start - b.start || a.end - b.end);
  let result = "";
  let at = 0;
  for (const { start, end, text: inserted } of sorted) {
    result += text.slice(at, Math.max(at, start)) + inserted;
    at = Math.max(at, end);
  }
  return result + text.slice(at);
}

export function pairsOf(map: unknown): TextPair[] {
  if (!isMap(map)) return [];
  return map.items.filter((pair): pair is TextPair => isScalar(pair.key) && pair.key.range != null);
}

export function pairNamed(map: unknown, name: string): TextPair | undefined {
  return pairsOf(map).find((pair) => String(pair.key.value) === name);
}

/** The value of a pair; an alias is resolved to its anchor. */
export function resolvedValue(document: Document.Parsed, pair: TextPair | undefined): unknown {
  return isAlias(pair?.value) ? pair.value.resolve(document) : pair?.value;
}

/** Replaces a part of a key or value, and keeps its quotes. */
export function replaceIn(text: string, node: Scalar, old: string, words: string): TextEdit | undefined {
  const [start, end] = node.range!;
  const at = text.slice(start, end).indexOf(old);
  return at === -1 ? undefined : { start: start + at, end: start + at + old.length, text: words };
}

export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

/** Offset after the line break of the line that contains `offset`. */
export function lineEnd(text: string, offset: number): number {
  const at = text.indexOf("\n", offset);
  return at === -1 ? text.length : at + 1;
}

export function lineBreakOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** Offset of the end of a pair, without comments and blank lines after it. */
export function pairEnd(text: string, { key, value }: TextPair): number {
  return Math.max(colonEnd(text, key), isEmptyValue(value) ? 0 : contentEnd(text, value as Node));
}

function isEmptyValue(value: Node | null): boolean {
  return value === null || (isScalar(value) && value.source === "" && value.value === null);
}

function colonEnd(text: string, key: Scalar): number {
  const end = key.range![1];
  return end + (/^\s*:/.exec(text.slice(end, end + 200))?.[0].length ?? 0);
}

function contentEnd(text: string, node: Node): number {
  const [start, end] = node.range!;
  const isBlock = (isMap(node) || isSeq(node)) && node.flow !== true;
  const last = isBlock ? node.items.at(-1) : undefined;
  if (last !== undefined) {
    const inner = isMap(node) ? pairEnd(text, last as TextPair) : contentEnd(text, last as Node);
    return Math.max(start, inner);
  }
  return start + text.slice(start, end).trimEnd().length;
}

/** Removes a pair from its map: its lines in block style, the pair and a comma in flow style. */
export function removePair(text: string, map: YAMLMap, pair: TextPair): TextEdit | undefined {
  if (map.flow === true) {
    const ranges = pairsOf(map).map((each) => [each.key.range![0], pairEnd(text, each)] as const);
    return ranges.length === map.items.length ? removeInFlow(text, ranges, map.items.indexOf(pair)) : undefined;
  }
  return removeLines(text, pair.key.range![0], pairEnd(text, pair), /^[ \t]*$/);
}

/** Removes items from a list. `owner` is the pair that holds the list: an emptied list becomes `[]` there. */
export function removeItems(
  text: string,
  owner: TextPair,
  list: YAMLSeq,
  isRemoved: (item: unknown) => boolean,
): TextEdit[] | undefined {
  const gone = list.items.filter(isRemoved) as Scalar[];
  if (gone.length === 0) return [];
  const isEmptied = gone.length === list.items.length;
  if (list.flow === true) {
    const [start, end] = list.range!;
    if (isEmptied) return text.slice(start, end).includes("#") ? undefined : [{ start, end, text: "[]" }];
    // Only one item can be removed: the edits of two neighbours would overlap at the comma.
    if (gone.length > 1) return undefined;
    const ranges = list.items.map((item) => [(item as Node).range![0], (item as Node).range![1]] as const);
    const edit = removeInFlow(text, ranges, list.items.indexOf(gone[0]!));
    return edit && [edit];
  }
  if (isEmptied && (list.anchor !== undefined || owner.value !== list)) return undefined;
  const edits = gone.map((item) => removeLines(text, item.range![0], item.range![1], /^[ \t]*-[ \t]+$/));
  if (edits.includes(undefined)) return undefined;
  const at = colonEnd(text, owner.key);
  return [...(edits as TextEdit[]), ...(isEmptied ? [{ start: at, end: at, text: " []" }] : [])];
}

function removeLines(text: string, start: number, end: number, before: RegExp): TextEdit | undefined {
  const from = lineStart(text, start);
  return before.test(text.slice(from, start)) ? { start: from, end: lineEnd(text, end), text: "" } : undefined;
}

function removeInFlow(
  text: string,
  ranges: readonly (readonly [number, number])[],
  index: number,
): TextEdit | undefined {
  const [start, end] = ranges[index]!;
  const next = ranges[index + 1];
  const before = ranges[index - 1];
  const edit = next ? { start, end: next[0] } : before ? { start: before[1], end } : { start, end };
  return text.slice(edit.start, edit.end).includes("#") ? undefined : { ...edit, text: "" };
}
