import { readFile } from "node:fs/promises";
import process from "node:process";
import { text as textOf } from "node:stream/consumers";
import type { OttlTrialResult } from "#contract/api";
import { type JsonObject, signalOfRequest } from "#otlp/json";
import { isMalformed, SIGNALS, type Signal } from "#otlp/signals";
import { CONTEXTS, type ContextName, isOttlError, tryOttl } from "#ottl";
import { painter, printable, printableJson } from "#text";
import { positionalArguments, printJson } from "../agent/report.js";
import type { CommandContext } from "../command.js";
import { EXIT, type Output, UsageError } from "../terminal.js";
import { type AnyJsonValue, plainText } from "./tapped-line.js";

/** `sluice ottl` */
export async function ottl(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const statements = positionalArguments(context);
  const condition = values["condition"] as string | undefined;
  if ((statements.length === 0) === (condition === undefined))
    throw new UsageError("expected statements or --condition", `such as 'set(log.body, "x")'`);
  const record = await readRecord(values["record"] as string | undefined);
  const results = await runStatements(record, values, statements, condition);
  if (values["json"] === true) printJson(context, { results });
  else terminal.out.write(`${describe(record, results, terminal.out).join("\n")}\n`);
  return results.some(({ error, matched }) => error !== undefined || matched === false) ? EXIT.failed : EXIT.ok;
}

async function runStatements(
  record: JsonObject,
  values: CommandContext["values"],
  statements: readonly string[],
  condition: string | undefined,
): Promise<OttlTrialResult[]> {
  const named = oneOf<ContextName>("context", values["context"], CONTEXTS);
  const signal = oneOf<Signal>("signal", values["signal"], SIGNALS) ?? (named ? undefined : "logs");
  const ofRequest = signalOfRequest(record);
  const texts = condition === undefined ? { statements } : { condition };
  try {
    return await tryOttl({ ...texts, record, context: named, signal: ofRequest ?? signal });
  } catch (error) {
    if (isMalformed(error)) throw new UsageError(`the record is not OTLP/JSON: ${error.message}`);
    if (isOttlError(error)) throw new UsageError(error.message);
    throw error;
  }
}

function oneOf<T extends string>(option: string, value: unknown, known: readonly T[]): T | undefined {
  const found = known.find((each) => each === value);
  if (value !== undefined && found === undefined)
    throw new UsageError(`--${option} ${value} is unknown`, `write one of ${known.join(", ")}`);
  return found;
}

async function readRecord(given: string | undefined): Promise<JsonObject> {
  if (given === undefined) throw new UsageError("expected a record", "--record FILE, --record - or --record '{...}'");
  const text = given.trimStart().startsWith("{") ? given : await readInput(given);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`the record is not JSON: ${(error as Error).message}`);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw new UsageError("the record is not a JSON object");
  return parsed as JsonObject;
}

function readInput(path: string): Promise<string> {
  if (path === "-") return textOf(process.stdin);
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`--record: cannot read ${path}: ${error.code}`);
  });
}

/** Shows the result of each statement, and how the record changed in the end. */
function describe(record: JsonObject, results: readonly OttlTrialResult[], { colour }: Output): string[] {
  const paint = painter(colour);
  const lines: string[] = [];
  let before = record;
  for (const { statement, changed, matched, error, offset, record: after } of results) {
    const word = matched === undefined ? (changed ? "changed" : "unchanged") : matched ? "holds" : "does not hold";
    const verdict = error === undefined ? paint(changed || matched ? "green" : "dim", word) : paint("red", "failed");
    lines.push(`${verdict}: ${printable(statement)}`);
    if (error !== undefined)
      lines.push(`  ${printable(error)}${offset === undefined ? "" : ` (at character ${offset + 1})`}`);
    for (const { sign, path, value } of changesBetween(before, after))
      lines.push(`  ${paint(sign === "+" ? "green" : "red", printable(`${sign} ${path}: ${value}`))}`);
    before = after;
  }
  const last = results.at(-1);
  if (last === undefined || last.matched !== undefined) return lines;
  const { record: final, resource, scope } = last;
  const shown = resource === undefined && scope === undefined ? final : { record: final, resource, scope };
  return [...lines, "", printableJson(shown, undefined, 2)];
}

/** A value that was removed or added. */
interface Change {
  readonly sign: "-" | "+";
  readonly path: string;
  readonly value: string;
}

/** Differences between two OTLP/JSON trees, by the path of each value; attributes are named by their keys. */
export function changesBetween(before: unknown, after: unknown): Change[] {
  const [old, now] = [valuesOf(before), valuesOf(after)];
  const paths = new Set([...old.keys(), ...now.keys()]);
  return [...paths].flatMap((path) => {
    const [was, is] = [old.get(path), now.get(path)];
    if (was === is) return [];
    return [
      ...(was === undefined ? [] : [{ sign: "-" as const, path, value: was }]),
      ...(is === undefined ? [] : [{ sign: "+" as const, path, value: is }]),
    ];
  });
}

function valuesOf(tree: unknown, path = "", into = new Map<string, string>()): Map<string, string> {
  if (Array.isArray(tree)) {
    for (const [i, item] of tree.entries()) {
      const { key, value } = (item ?? {}) as { readonly key?: unknown; readonly value?: AnyJsonValue };
      if (typeof key === "string") into.set(`${path}[${JSON.stringify(key)}]`, plainText(value));
      else valuesOf(item, `${path}[${i}]`, into);
    }
  } else if (typeof tree === "object" && tree !== null) {
    const [kind] = Object.keys(tree);
    if (kind?.endsWith("Value") && path !== "") into.set(path, plainText(tree as AnyJsonValue));
    else for (const [key, value] of Object.entries(tree)) valuesOf(value, path === "" ? key : `${path}.${key}`, into);
  } else if (tree !== undefined) into.set(path, JSON.stringify(tree));
  return into;
}
