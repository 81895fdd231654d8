import { randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { PRIVATE_FILE_MODE } from "#system";
import { printable } from "#text";
import { operatorOf, revealOptions, withOldReason } from "../agent/operator.js";
import type { CommandContext } from "../command.js";
import { pluralize } from "../print/text.js";
import { EXIT, type Output } from "../terminal.js";
import { withDeadLetters } from "./connect.js";
import { queryOf } from "./filters.js";

/** `sluice dlq export` */
export async function exportDeadLetters(given: CommandContext): Promise<number> {
  const context = withOldReason(given);
  const { values, terminal } = context;
  const query = queryOf(values, Date.now());
  const file = values["out"] as string | undefined;
  const reveal = revealOptions(context);
  return withDeadLetters(context, async ({ admin }) => {
    const lines = admin.actingAs(operatorOf(context)).exportDeadLetters(query, reveal);
    const number = file === undefined ? await toOutput(lines, terminal.out) : await toFile(lines, file);
    const masked = reveal.reveal ? "" : ", masked: for reading, not for dlq import (--reveal --why TEXT)";
    terminal.err.write(
      `${pluralize(number, "dead letter")} written${file === undefined ? "" : ` to ${file}`}${masked}.\n`,
    );
    return EXIT.ok;
  });
}

async function toOutput(lines: AsyncIterable<string>, out: Output): Promise<number> {
  let number = 0;
  for await (const line of lines) {
    // On a terminal control characters are printed as JSON escapes, which mean the same; a file gets the line
    // unchanged.
    out.write(`${out.isTerminal ? printable(line) : line}\n`);
    number++;
    if ((await out.drained?.()) === false) break;
  }
  return number;
}

/**
 * Writes to a temporary file and renames it when it is complete. The temporary name is random and must not exist yet,
 * so a symbolic link put there by someone else is not followed. A link at the final name is replaced.
 */
async function toFile(lines: AsyncIterable<string>, file: string): Promise<number> {
  const partial = join(dirname(file), `.${basename(file)}.${randomBytes(8).toString("hex")}.part`);
  const handle = await open(partial, "wx", PRIVATE_FILE_MODE);
  let number = 0;
  try {
    for await (const line of lines) {
      await handle.write(`${line}\n`);
      number++;
    }
    await handle.sync();
  } catch (error) {
    await handle.close();
    await rm(partial, { force: true });
    throw error;
  }
  await handle.close();
  await rename(partial, file);
  return number;
}
