import { hostname, userInfo } from "node:os";
import type { Operator, RevealOptions } from "#contract/operations";
import type { CommandContext, CommandOption, OptionValues } from "../command.js";
import { UsageError } from "../terminal.js";

/**
 * Options of every command that changes something. The audit records them. The reason is `--why` because `--reason` is
 * a filter of most of these commands.
 */
export const OPERATOR_OPTIONS: Readonly<Record<string, CommandOption>> = {
  by: { type: "string", value: "NAME", description: "Your name for the audit; default: your user name." },
  why: { type: "string", value: "TEXT", description: "The reason for the audit." },
};

/** Options of every command that shows payloads. */
export const REVEAL_OPTIONS: Readonly<Record<string, CommandOption>> = {
  reveal: {
    type: "boolean",
    description: "Show records unmasked. Needs --reason TEXT, and is recorded in the audit.",
  },
  reason: { type: "string", value: "TEXT", description: "With --reveal: the reason (or --why TEXT)." },
  ...OPERATOR_OPTIONS,
};

/** The person who runs the command. In commands with filters, `--reason` is a filter unless --reveal is given. */
export function operatorOf({ values, terminal }: CommandContext, hasFilters = true): Operator {
  const why = values["why"] ?? (values["reveal"] === true || !hasFilters ? values["reason"] : undefined);
  const reason = why as string | undefined;
  const actor = (values["by"] as string | undefined) ?? userName(terminal.env);
  return { actor, from: `command line on ${hostname()}`, ...(reason?.trim() && { reason: reason.trim() }) };
}

/** With --reveal, masked values are shown. A reason is required and goes into the audit. */
export function revealOptions(context: CommandContext): RevealOptions {
  if (context.values["reveal"] !== true) return {};
  if (operatorOf(context).reason === undefined)
    throw new UsageError(
      "--reveal shows unmasked records and needs a reason",
      "give it with --reason TEXT; it is recorded in the audit",
    );
  return { reveal: true };
}

/** Removes `--reason` when it gives the reason for --reveal, because it is not a filter then. */
export function withoutRevealReason(values: OptionValues): OptionValues {
  if (values["reveal"] !== true || values["why"] !== undefined) return values;
  const { reason: _, ...others } = values;
  return others;
}

function userName(env: Readonly<Record<string, string | undefined>>): string {
  try {
    return userInfo().username;
  } catch {
    return env["USER"] || "unknown";
  }
}
