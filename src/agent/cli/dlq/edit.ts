import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { AdminError, type Entry, revisionOf } from "#contract/operations";
import { painter, printable, printableJson } from "#text";
import { operatorOf } from "../agent/operator.js";
import { positionalArguments, printJson } from "../agent/report.js";
import type { CommandContext } from "../command.js";
import { diffText } from "../print/diff.js";
import { EXIT, type Terminal, UsageError } from "../terminal.js";
import { withDeadLetters } from "./connect.js";
import { revisionOption } from "./filters.js";
import type { DeadLetterAdmin } from "./remote.js";

/** `sluice dlq edit` */
export async function edit(context: CommandContext): Promise<number> {
  const { values } = context;
  const [id, ...more] = positionalArguments(context);
  if (id === undefined || more.length > 0) throw new UsageError("edit needs one id", "dlq list prints them");
  const operator = operatorOf(context, false);
  if (operator.reason === undefined)
    throw new UsageError("dlq edit needs a reason", "give it with --why TEXT; it is recorded in the audit");
  const file = values["file"] as string | undefined;
  const revision = revisionOption(values);
  if (revision !== undefined && file === undefined) throw new UsageError("--revision needs --file");
  return withDeadLetters(context, async ({ admin: anyone }) => {
    const admin = anyone.actingAs(operator);
    const entry = await admin.deadLetter(id);
    if (entry === undefined) throw new AdminError("not_found", `there is no entry ${JSON.stringify(id)}`);
    if (entry.state !== "failed") throw new AdminError("conflict", `${id} is not a dead letter: it is ${entry.state}`);
    const change = (payload: string) =>
      admin.editDeadLetter(id, { by: operator.actor, payload, revision: revision ?? revisionOf(entry) });
    if (file === undefined) return editByHand(context, admin, entry, change);
    const payload = file === "-" ? await readInput() : await readFile(file, "utf8");
    return report(context, await change(payload));
  });
}

type SavePayload = (payload: string) => Promise<Entry>;

/** Opens the editor until the saved file is accepted. A version that was not accepted stays in its file. */
async function editByHand(
  context: CommandContext,
  admin: DeadLetterAdmin,
  { id }: Entry,
  change: SavePayload,
): Promise<number> {
  const { terminal } = context;
  const editor = terminal.env["VISUAL"] || terminal.env["EDITOR"];
  if (!editor) throw new UsageError("there is no $VISUAL or $EDITOR to edit with", "set one, or give --file FILE");
  const before = pretty(await admin.payload(id, { reveal: true }));
  const folder = await mkdtemp(join(tmpdir(), "sluice-edit-"));
  const file = join(folder, "payload.json");
  await writeFile(file, before, { mode: 0o600 });
  for (;;) {
    const code = await openEditor(editor, file);
    const after = await readFile(file, "utf8").catch(() => before);
    if (after === before) {
      await rm(folder, { recursive: true, force: true });
      terminal.err.write(`${code === 0 ? "" : `${editor} ended with ${code}. `}Nothing was changed.\n`);
      return code === 0 ? EXIT.ok : EXIT.failed;
    }
    // Leaving an editor with an error, as `:cq` does in vi, means that the file must be ignored.
    if (code !== 0) return keepUnsaved(terminal, file, `${editor} ended with ${code}. Nothing was changed.`);
    try {
      const edited = await change(after);
      await rm(folder, { recursive: true, force: true });
      return report(context, edited, diffText(JSON.parse(before), JSON.parse(after), painter(terminal.out.colour)));
    } catch (error) {
      terminal.err.write(`sluice: ${printable((error as Error).message)}\n`);
      const isRefused = error instanceof AdminError && error.code === "bad_request";
      if (
        isRefused &&
        terminal.ask !== undefined &&
        /^(y|yes|)$/i.test((await terminal.ask("Edit it again? [Y/n] ")).trim())
      )
        continue;
      return keepUnsaved(terminal, file);
    }
  }
}

function keepUnsaved({ err }: Terminal, file: string, why = ""): number {
  err.write(`${why}${why && "\n"}Your text is in ${file}; delete the file when you no longer need it.\n`);
  return EXIT.failed;
}

/** A shell splits the variable into program and options, as other programs that open an editor do. */
async function openEditor(editor: string, file: string): Promise<number | null> {
  const child = spawn("sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
}

async function readInput(): Promise<string> {
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) text += chunk as string;
  return text;
}

/** Writes control characters as JSON escapes, because an editor might interpret or hide them. */
function pretty(payload: string | undefined): string {
  if (payload === undefined) throw new AdminError("not_found", "its records can no longer be read");
  return `${printableJson(JSON.parse(payload), undefined, 2)}\n`;
}

function report(context: CommandContext, entry: Entry, diff: readonly string[] = []): number {
  const { values, terminal } = context;
  if (values["json"] === true) printJson(context, { entry });
  else {
    const lines = diff.length === 0 ? "" : `${diff.join("\n")}\n`;
    terminal.out.write(`${lines}${entry.id} was changed: revision ${revisionOf(entry)}. dlq replay sends it.\n`);
  }
  return EXIT.ok;
}
