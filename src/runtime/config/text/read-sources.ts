import { closeSync, openSync, readSync } from "node:fs";
import { dirname } from "node:path";
import type { Findings } from "./findings.js";
import { isNull, type MapNode, mapNode, mergeNodes, type Node } from "./node.js";
import { parseSet, setSource } from "./parse-set.js";
import { parseYaml } from "./parse-yaml.js";
import { SourceText } from "./source-text.js";
import { fileErrorReason, type SubstitutionContext, substitute, withoutBom } from "./substitute.js";

/**
 * A source of config: a file, or a text with a name for problems. Relative paths in it are resolved against the file's
 * folder, or the given folder.
 */
export type ConfigSource =
  | { readonly file: string }
  | { readonly text: string; readonly name: string; readonly folder?: string };

interface ReadOptions {
  readonly sources: readonly ConfigSource[];
  readonly sets: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
  readonly findings: Findings;
}

interface ReadResult {
  /** All sources merged and substituted; undefined when no config could be read. */
  readonly root: MapNode | undefined;
  readonly texts: ReadonlyMap<string, SourceText>;
}

/** Reads, substitutes and merges all sources, and then the `--set` arguments. */
export function readSources(options: ReadOptions): ReadResult {
  const { findings, env, readFile } = options;
  const texts = new Map<string, SourceText>();
  const onSource = (source: SourceText) => texts.set(source.name, source);
  const context: SubstitutionContext = { env, readFile, problems: findings.problems, onSource };
  const layers: (MapNode | undefined)[] = options.sources.map((each) => {
    const source = openSource(each, readFile, findings);
    if (source === undefined) return undefined;
    onSource(source);
    return readSource(source, context, findings, options.sources.length === 1);
  });
  layers.push(...readSets(options.sets, context));
  return { root: mergeAll(layers), texts };
}

function openSource(
  from: ConfigSource,
  readFile: (path: string) => string,
  findings: Findings,
): SourceText | undefined {
  if ("text" in from) return new SourceText(from.name, withoutBom(from.text), from.folder);
  try {
    return new SourceText(from.file, withoutBom(readFile(from.file)), dirname(from.file));
  } catch (error) {
    findings.error("unreadable_file", undefined, [], `cannot read ${from.file}: ${fileErrorReason(error)}`);
    return undefined;
  }
}

/** An empty file is an error if it is the only source; otherwise it is ignored. */
function readSource(
  source: SourceText,
  context: SubstitutionContext,
  findings: Findings,
  isOnlySource: boolean,
): MapNode | undefined {
  const before = findings.problems.length;
  const parsed = parseYaml(source, findings.problems);
  const hasSyntaxErrors = findings.problems
    .slice(before)
    .some((problem) => problem.code.startsWith("yaml_") && problem.severity === "error");
  if (hasSyntaxErrors) return undefined;
  const start = { source, start: 0, end: 0 };
  if (parsed === undefined || isNull(parsed)) {
    if (!isOnlySource) return mapNode(start, new Map());
    findings.error(
      "empty_config",
      start,
      [],
      "the config is empty; it needs receivers, exporters and service.pipelines",
    );
    return undefined;
  }
  const root = substitute(parsed, context);
  if (root.kind === "map") return root;
  findings.error("not_a_map", start, [], "expected a map with receivers, exporters and service at the top");
  return undefined;
}

function readSets(sets: readonly string[], context: SubstitutionContext): (MapNode | undefined)[] {
  if (sets.length === 0) return [];
  const source = setSource(sets);
  context.onSource(source);
  return sets.map((_, i) => {
    const node = parseSet(source, i, context.problems);
    return node && (substitute(node, context) as MapNode);
  });
}

function mergeAll(layers: readonly (MapNode | undefined)[]): MapNode | undefined {
  if (layers.length === 0 || layers.includes(undefined)) return undefined;
  return layers.reduce<Node | undefined>(
    (all, layer) => (all === undefined ? layer : mergeNodes(all, layer!)),
    undefined,
  ) as MapNode;
}

/** Far more than any config has; needed because a device or a pipe may be endless. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Reads a file of any kind. Throws when it cannot be read or is too large. */
export function readTextFile(path: string): string {
  const file = openSync(path, "r");
  try {
    return readAll(file).toString("utf8");
  } finally {
    closeSync(file);
  }
}

function readAll(file: number): Buffer {
  const chunks: Buffer[] = [];
  let size = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(64 * 1024);
    const read = readSync(file, chunk);
    if (read === 0) return Buffer.concat(chunks, size);
    chunks.push(chunk.subarray(0, read));
    size += read;
    if (size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES / 1024 / 1024} MiB`);
  }
}
