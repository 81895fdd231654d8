import { isMap, isScalar, isSeq, type YAMLMap } from "yaml";
import type { KeyRewrite } from "#config/schema";
import {
  lineBreakOf,
  lineEnd,
  lineStart,
  pairEnd,
  pairNamed,
  pairsOf,
  type TextEdit,
  type TextPair,
} from "./yaml-edits.js";

/** Moves a pair to the name or section that its key has today. Returns undefined where that is not safe. */
export function moveKey(
  text: string,
  owner: YAMLMap,
  pair: TextPair,
  { path, value }: KeyRewrite,
): TextEdit[] | undefined {
  // YAML merges whole keys: a section created here could hide a merged one, or be hidden by one.
  if (text.includes("<<") && (owner.anchor !== undefined || pairNamed(owner, "<<") !== undefined)) return undefined;
  const [section, name] = path as [string, string?];
  const words = translatedValue(text, pair, value);
  if (words === undefined) return undefined;
  const existing = pairNamed(owner, section);
  if (name === undefined) return existing === undefined ? [keyEdit(pair, section), ...words] : undefined;
  if (existing !== undefined) return words.length > 0 ? undefined : moveInto(text, owner, pair, existing, name);
  return [
    ...(owner.flow === true ? nestInFlow(text, pair, section, name) : nestInBlock(text, pair, section, name)),
    ...words,
  ];
}

/**
 * The edit of the value, if it needs one. Undefined for a variable whose value would have to change: its value is
 * unknown here.
 */
function translatedValue(text: string, pair: TextPair, translate: KeyRewrite["value"]): TextEdit[] | undefined {
  if (!isScalar(pair.value)) return isMap(pair.value) || isSeq(pair.value) ? [] : undefined;
  const written = String(pair.value.source ?? pair.value.value);
  const words = translate(written);
  if (words === undefined) return undefined;
  const [start, end] = pair.value.range!;
  if (words === written) return [];
  return text.slice(start, end).includes("$") ? undefined : [{ start, end, text: words }];
}

function keyEdit({ key }: TextPair, words: string): TextEdit {
  return { start: key.range![0], end: key.range![1], text: words };
}

function nestInFlow(text: string, pair: TextPair, section: string, name: string): TextEdit[] {
  const end = pairEnd(text, pair);
  return [keyEdit(pair, `${section}: {${name}`), { start: end, end, text: "}" }];
}

const STEP = "  ";

function nestInBlock(text: string, pair: TextPair, section: string, name: string): TextEdit[] {
  const start = pair.key.range![0];
  const indent = " ".repeat(start - lineStart(text, start));
  return [
    keyEdit(pair, `${section}:${lineBreakOf(text)}${indent}${STEP}${name}`),
    ...followingLines(text, pair).map((at) => ({ start: at, end: at, text: STEP })),
  ];
}

/** Offsets of a pair's lines after the first, without blank ones. */
function followingLines(text: string, pair: TextPair): number[] {
  const end = pairEnd(text, pair);
  const starts: number[] = [];
  for (let at = lineEnd(text, pair.key.range![0]); at < end; at = lineEnd(text, at)) {
    if (text.slice(at, lineEnd(text, at)).trim() !== "") starts.push(at);
  }
  return starts;
}

/** Moves the lines of a pair to the beginning of an existing section. */
function moveInto(
  text: string,
  owner: YAMLMap,
  pair: TextPair,
  section: TextPair,
  name: string,
): TextEdit[] | undefined {
  const inside = section.value;
  const [first] = pairsOf(inside);
  if (!isMap(inside) || owner.flow === true || inside.flow === true || first === undefined) return undefined;
  if (inside.anchor !== undefined || pairNamed(inside, name) !== undefined) return undefined;
  const from = lineStart(text, pair.key.range![0]);
  const to = lineStart(text, first.key.range![0]);
  const depth = pair.key.range![0] - from;
  const firstIndent = text.slice(to, first.key.range![0]);
  if (text.slice(from, from + depth).trim() !== "" || firstIndent.trim() !== "") return undefined;
  const extra = " ".repeat(firstIndent.length - depth);
  const end = lineEnd(text, pairEnd(text, pair));
  const lines = text.slice(from, end).split(/(?<=\n)/);
  const keyEnd = pair.key.range![1] - from;
  const moved = lines.map((line, i) => {
    const renamed = i === 0 ? line.slice(0, depth) + name + line.slice(keyEnd) : line;
    return renamed.trim() === "" ? renamed : extra + renamed;
  });
  const block = moved.join("");
  return [
    { start: from, end, text: "" },
    { start: to, end: to, text: block.endsWith("\n") ? block : block + lineBreakOf(text) },
  ];
}
