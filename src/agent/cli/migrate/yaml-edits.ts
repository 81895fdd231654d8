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
 * Changes of a YAML text at the places of its nodes: all that is not touched stays as it was written, comments and blanks
 * too. Functions give undefined for what is written in a way that they cannot change safely.
 */
export interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export type TextPair = Pair<Scalar, Node | null>;

/** The document of a text that counts: the first with something in it. */
export function firstDocument(text: string): Document.Parsed | undefined {
  const parsed = parseAllDocuments(text, { uniqueKeys: false, prettyErrors: false });
  const documents = Array.isArray(parsed) ? (parsed as Document.Parsed[]) : [];
  return documents.find(({ contents }) => isMap(contents));
}

/** Edits may come more than once, by aliases. */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  const unique = new Map(edits.map((edit) => [`${edit.start} ${edit.end} ${edit.text}`, edit]));
  // Of two at one place the later one is put behind the earlier.
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

/** What stands behind a key, an alias followed to its anchor. */
export function resolvedValue(document: Document.Parsed, pair: TextPair | undefined): unknown {
  return isAlias(pair?.value) ? pair.value.resolve(document) : pair?.value;
}

/** Puts other words in place of a part of a key or of a value, in the quotes that it has. */
export function replaceIn(text: string, node: Scalar, old: string, words: string): TextEdit | undefined {
  const [start, end] = node.range!;
  const at = text.slice(start, end).indexOf(old);
  return at === -1 ? undefined : { start: start + at, end: start + at + old.length, text: words };
}

export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

/** Behind the line break of the line that an offset is in. */
export function lineEnd(text: string, offset: number): number {
  const at = text.indexOf("\n", offset);
  return at === -1 ? text.length : at + 1;
}

export function lineBreakOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** Where the last word of a pair ends, comments and blank lines behind it not counted. */
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

/** Takes a pair out of its map: in a block its lines, in brackets itself and a comma. */
export function removePair(text: string, map: YAMLMap, pair: TextPair): TextEdit | undefined {
  if (map.flow === true) {
    const ranges = pairsOf(map).map((each) => [each.key.range![0], pairEnd(text, each)] as const);
    return ranges.length === map.items.length ? removeInFlow(text, ranges, map.items.indexOf(pair)) : undefined;
  }
  return removeLines(text, pair.key.range![0], pairEnd(text, pair), /^[ \t]*$/);
}

/** Takes words out of a list. `owner` is the pair that the list stands behind, for when nothing is left in it. */
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
    // One at a time: what is between two that go belongs to both.
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
