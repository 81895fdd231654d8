import { reportFailure } from "../agent/report.js";
import type { CommandContext } from "../command.js";
import { connect } from "./connect.js";
import type { DeadLetterConnection } from "./dead-letter-admin.js";

/**
 * Opens the dead letters, runs a command on them and closes them. Prints the error if it fails, and returns the exit
 * code.
 */
export function withDeadLetters(
  context: CommandContext,
  work: (connection: DeadLetterConnection) => Promise<number>,
): Promise<number> {
  return reportFailure(context, async () => {
    const connection = await connect(context);
    try {
      return await work(connection);
    } finally {
      await connection.close();
    }
  });
}
