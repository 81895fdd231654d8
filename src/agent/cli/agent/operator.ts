import { hostname, userInfo } from "node:os";
import { FAILURE_REASONS, type Operator, type RevealOptions } from "#contract/operations";
import type { CommandContext, CommandOption } from "../command.js";
import { flag, option } from "../command.js";
import { UsageError } from "../terminal.js";

/**
 * Options of every command that changes something. The audit records them. The reason is `--why` because `--reason` is
 * a filter of most of these commands.
 */
export const OPERATOR_OPTIONS: Readonly<Record<string, CommandOption>> = {
  by: option("NAME", "Your name for the audit; default: your user name."),
  why: option("TEXT", "The reason for the audit."),
};

/** Options of every command that shows payloads. */
export const REVEAL_OPTIONS: Readonly<Record<string, CommandOption>> = {
  reveal: flag("Show records unmasked. Needs --why TEXT, and is recorded in the audit."),
  ...OPERATOR_OPTIONS,
};

/** The older name of `--why` in commands that have no filters. */
export const REASON_OPTION: CommandOption = option("TEXT", "The same as --why.");

/** The person who runs the command. In commands with filters, `--reason` is a filter. */
export function operatorOf({ values, terminal }: CommandContext, hasFilters = true): Operator {
  const reason = (values["why"] ?? (hasFilters ? undefined : values["reason"])) as string | undefined;
  const actor = (values["by"] as string | undefined) ?? userName(terminal.env);
  return { actor, from: `command line on ${hostname()}`, ...(reason?.trim() && { reason: reason.trim() }) };
}

/** With --reveal, masked values are shown. A reason is required and goes into the audit. */
export function revealOptions(context: CommandContext, hasFilters = true): RevealOptions {
  if (context.values["reveal"] !== true) return {};
  if (operatorOf(context, hasFilters).reason === undefined)
    throw new UsageError(
      "--reveal shows unmasked records and needs a reason",
      "give it with --why TEXT; it is recorded in the audit",
    );
  return { reveal: true };
}

/** Reads `--reveal --reason TEXT` of older scripts as `--reveal --why TEXT`, and says so. */
export function withOldReason(context: CommandContext): CommandContext {
  const { reveal, why, reason, ...others } = context.values;
  const isOld = reveal === true && why === undefined && reason !== undefined;
  if (!isOld || (FAILURE_REASONS as readonly unknown[]).includes(reason)) return context;
  context.terminal.err.write("sluice: --reason is a filter; write --why TEXT for the audit\n");
  return { ...context, values: { ...others, reveal, why: reason } };
}

function userName(env: Readonly<Record<string, string | undefined>>): string {
  try {
    return userInfo().username;
  } catch {
    return env["USER"] || "unknown";
  }
}
