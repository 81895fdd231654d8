import type { CommandContext } from "../command.js";
import { UsageError } from "../terminal.js";

/** True when the user confirms, or gave --yes. Without a terminal --yes is required. */
export async function confirm({ values, terminal }: CommandContext, question: string): Promise<boolean> {
  if (values["yes"] === true) return true;
  if (terminal.ask === undefined)
    throw new UsageError(
      "this deletes data permanently, and there is no terminal to ask for confirmation",
      "say --yes",
    );
  const answer = await terminal.ask(`${question} [y/N] `);
  const isAgreed = /^y(es)?$/i.test(answer.trim());
  if (!isAgreed) terminal.err.write("Nothing was deleted.\n");
  return isAgreed;
}
