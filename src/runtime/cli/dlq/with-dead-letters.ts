import { AdminError } from "../../contract/admin.js";
import type { CommandContext } from "../command.js";
import { EXIT } from "../terminal.js";
import { connect } from "./connect.js";
import type { DeadLetterConnection } from "./dead-letter-admin.js";

/** Runs a command on the dead letters, lets go of them, and says what went wrong; gives the exit code. */
export async function withDeadLetters(
  context: CommandContext,
  work: (connection: DeadLetterConnection) => Promise<number>,
): Promise<number> {
  let connection: DeadLetterConnection | undefined;
  try {
    connection = await connect(context);
    return await work(connection);
  } catch (error) {
    const expected = expectedError(error);
    if (expected === undefined) throw error;
    context.terminal.err.write(`sluice: ${expected.message}\n`);
    return expected.code;
  } finally {
    await connection?.close();
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

export function printJson({ terminal }: CommandContext, value: unknown): void {
  terminal.out.write(`${JSON.stringify(value, undefined, 2)}\n`);
}

export function positionalArguments({ values }: CommandContext): readonly string[] {
  return (values["names"] ?? []) as readonly string[];
}
