import { open, rename, rm } from "node:fs/promises";
import type { CommandContext } from "../command.js";
import { EXIT, type Output } from "../terminal.js";
import { queryOf } from "./filters.js";
import { pluralize } from "./text.js";
import { withDeadLetters } from "./with-dead-letters.js";

/** `sluice dlq export` */
export async function exportDeadLetters(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const query = queryOf(values, Date.now());
  const file = values["out"] as string | undefined;
  return withDeadLetters(context, async ({ admin }) => {
    const lines = admin.exportDeadLetters(query);
    const number = file === undefined ? await toOutput(lines, terminal.out) : await toFile(lines, file);
    terminal.err.write(`${pluralize(number, "dead letter")} written${file === undefined ? "" : ` to ${file}`}.\n`);
    return EXIT.ok;
  });
}

async function toOutput(lines: AsyncIterable<string>, out: Output): Promise<number> {
  let number = 0;
  for await (const line of lines) {
    out.write(`${line}\n`);
    number++;
    if ((await out.drained?.()) === false) break;
  }
  return number;
}

/** The file has its name only when it is whole. */
async function toFile(lines: AsyncIterable<string>, file: string): Promise<number> {
  const partial = `${file}.part`;
  const handle = await open(partial, "w", 0o600);
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
