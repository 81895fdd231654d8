import { AdminError, type DeadLetterPage, withIsoTimes } from "#contract/operations";
import { printable, printableJson } from "#text";
import type { CommandContext } from "../command.js";
import { EXIT } from "../terminal.js";

/** Runs a command's work on an agent or its files, prints the error if it fails, and returns the exit code. */
export async function reportFailure({ terminal }: CommandContext, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    const expected = expectedError(error);
    if (expected === undefined) throw error;
    terminal.err.write(`sluice: ${expected.message.split("\n").map(printable).join("\n")}\n`);
    return expected.code;
  }
}

function expectedError(error: unknown): { message: string; code: number } | undefined {
  if (error instanceof AdminError) {
    return { message: error.message, code: error.code === "bad_request" ? EXIT.usage : EXIT.failed };
  }
  const { code, name, message } = error as NodeJS.ErrnoException;
  const isOutside = name === "StoreError" || (typeof code === "string" && /^E[A-Z]+$/.test(code));
  return isOutside ? { message, code: EXIT.failed } : undefined;
}

/** Says on stderr whose share an answer lacks. */
export function warnOfMissingWorkers(
  { terminal }: CommandContext,
  { unavailableWorkers = [] }: Pick<DeadLetterPage, "unavailableWorkers">,
): void {
  for (const worker of unavailableWorkers)
    terminal.err.write(`sluice: worker ${worker} does not answer, so its dead letters are missing here\n`);
}

export function printJson({ terminal }: CommandContext, value: unknown): void {
  terminal.out.write(`${printableJson(value, withIsoTimes, 2)}\n`);
}

export function positionalArguments({ values }: CommandContext): readonly string[] {
  return (values["names"] ?? []) as readonly string[];
}
