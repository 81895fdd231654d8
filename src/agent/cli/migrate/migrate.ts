import { constants, copyFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type LoadedConfig, openConfig, readTextFile, withoutBom } from "#config";
import type { Problem } from "#config/text";
import { errorMessage } from "#contract/errors";
import { loadConfigWithPlugins } from "#host";
import { diffLines, painter } from "#text";
import type { CommandContext } from "../command.js";
import { unifiedDiff } from "../print/diff.js";
import { showProblems } from "../show-problems.js";
import { EXIT, UsageError } from "../terminal.js";
import { type ConfigRemark, type MigratedText, migrateText } from "./migrate-text.js";

/** `sluice migrate`: updates a config to today's names. */
export async function migrate(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const [file, ...more] = (values["names"] ?? []) as readonly string[];
  if (file === undefined || more.length > 0) throw new UsageError("expected one file", "sluice migrate pipeline.yaml");
  const { env } = terminal;
  const shared = { env, addDefaults: true };
  const { bom, original } = readConfig(file);
  const source = (text: string) => ({ text, name: file, folder: dirname(file) });
  const sources = [original === undefined ? { file } : source(original)];
  const before = await loadConfigWithPlugins({ ...shared, sources, registry: context.registry });
  if (original === undefined || before.problems.some(isUnreadable))
    return answer(context, { file, problems: before.problems, before });
  const load = (text: string) => openConfig({ ...shared, sources: [source(text)] }).resolve(before.registry);
  const migrated = migrateText(original, load);
  const isMeant = values["write"] === true && migrated.text !== original;
  const failure = isMeant ? write(file, bom + migrated.text) : undefined;
  const isWritten = isMeant && failure === undefined;
  return answer(context, { file, problems: migrated.loaded.problems, before, original, migrated, failure, isWritten });
}

/**
 * Reads a file once, because it may be a pipe. Gives no text when the file cannot be read; loading the config then
 * reports why.
 */
function readConfig(file: string): { readonly bom: string; readonly original?: string } {
  try {
    const text = readTextFile(file);
    const original = withoutBom(text);
    return { bom: text.slice(0, text.length - original.length), original };
  } catch {
    return { bom: "" };
  }
}

/** Names can be checked only after the text has been parsed and the plugins that provide types have been loaded. */
function isUnreadable({ severity, code }: Problem): boolean {
  return severity === "error" && /^(yaml_|duplicate_key$|plugin_|unreadable_file$|empty_config$|not_a_map$)/.test(code);
}

/**
 * Writes the new text and keeps the old one in a backup. Overwrites the file instead of replacing it, because it may be
 * a link or a mount, and to keep its owner and permissions. Returns the reason if it fails.
 */
function write(file: string, text: string): string | undefined {
  // Bytes that are not UTF-8 were read as U+FFFD, and would be written back as different bytes.
  if (text.includes("\ufffd")) return "it is not UTF-8, or has U+FFFD in it";
  const backup = `${file}.bak`;
  try {
    copyFileSync(file, backup, constants.COPYFILE_EXCL);
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === "EEXIST";
    return isThere ? `${backup} exists, but the old text would go there; move the file away` : errorMessage(error);
  }
  try {
    writeFileSync(file, text);
    return undefined;
  } catch (error) {
    return `${errorMessage(error)}; the old text is in ${backup}`;
  }
}

interface MigrationAnswer {
  readonly file: string;
  /** Problems of the config as it is now. */
  readonly problems: readonly Problem[];
  readonly before: LoadedConfig;
  readonly original?: string;
  readonly migrated?: MigratedText;
  readonly failure?: string | undefined;
  readonly isWritten?: boolean;
}

function answer({ values, terminal }: CommandContext, result: MigrationAnswer): number {
  const { file, problems, before, original = "", migrated, failure, isWritten = false } = result;
  const isJson = values["json"] === true;
  const paint = painter(!isJson && terminal.out.colour);
  const diff = migrated === undefined ? [] : unifiedDiff(file, shownDiff(file, original, migrated, before), paint);
  const remarks = migrated?.remarks ?? [];
  if (isJson) {
    const report = { file, changed: diff.length > 0, written: isWritten, remarks, diff: diff.join("\n"), problems };
    terminal.out.write(`${JSON.stringify(failure === undefined ? report : { ...report, failure }, undefined, 2)}\n`);
  } else {
    const lines = [...diff, ...(diff.length > 0 ? [""] : []), ...remarks.map(remarkText)];
    if (migrated !== undefined && diff.length === 0) lines.push(`${file} uses current names: nothing to change.`);
    if (isWritten) lines.push("", `Wrote ${file}; the old text is in ${file}.bak.`);
    else if (diff.length > 0 && failure === undefined)
      lines.push("", "Nothing was written; use --write to write the file.");
    if (lines.length > 0) terminal.out.write(`${lines.join("\n")}\n`);
    showProblems(problems.filter(isError), (migrated?.loaded ?? before).lineAt, terminal.err);
    if (failure !== undefined) terminal.err.write(`sluice: ${file} was not written: ${failure}\n`);
  }
  return failure === undefined && !problems.some(isError) ? EXIT.ok : EXIT.failed;
}

function isError({ severity }: Problem): boolean {
  return severity === "error";
}

/** The differences between both texts, with secrets masked. */
function shownDiff(file: string, original: string, { text, loaded }: MigratedText, before: LoadedConfig) {
  let [old, now] = [0, 0];
  return diffLines(linesOf(original), linesOf(text)).map(({ kind }) => {
    if (kind !== "new") old++;
    if (kind !== "gone") now++;
    const place = { file, line: kind === "gone" ? old : now, column: 1 };
    return { kind, text: (kind === "gone" ? before : loaded).lineAt(place) ?? "" };
  });
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}

function remarkText({ action, path, message }: ConfigRemark): string {
  return `${action}: ${path}: ${message}`;
}
