import { parseArgs } from "node:util";
import { nearest } from "#contract/schema";
import type { Command, OptionValues } from "./command.js";
import { UsageError } from "./terminal.js";

interface ParsedArguments {
  readonly values: OptionValues;
  readonly names: readonly string[];
}

/** Parses a command's arguments. Throws a `UsageError` that says what to write instead. */
export function parseArguments(command: Command, args: readonly string[]): ParsedArguments {
  const options = { ...command.options, help: { type: "boolean", short: "h" } as const };
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(Object.entries(options).map(([name, option]) => [name, parseOption(option)])),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === "option") checkOption(token.name, token.rawName, token.value, options);
  }
  return { values: values as OptionValues, names: positionals };
}

function parseOption({ type, multiple, short }: { type: "string" | "boolean"; multiple?: boolean; short?: string }) {
  return { type, multiple: multiple ?? false, ...(short === undefined ? {} : { short }) };
}

function checkOption(
  name: string,
  written: string,
  value: string | undefined,
  options: Readonly<Record<string, { type: "string" | "boolean" }>>,
): void {
  const option = Object.hasOwn(options, name) ? options[name] : undefined;
  if (option === undefined) {
    const guess = nearest(name, Object.keys(options));
    throw new UsageError(`unknown option ${written}`, guess && `did you mean --${guess}?`);
  }
  if (option.type === "string" && value === undefined) throw new UsageError(`${written} needs a value`);
  if (option.type === "boolean" && value !== undefined) throw new UsageError(`${written} takes no value`);
}
