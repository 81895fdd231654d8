import process from "node:process";
import type { CommandContext } from "../command.js";
import { configFiles } from "../config-sources.js";
import { UsageError } from "../terminal.js";
import { DevSession, filterProblem } from "./dev-session.js";
import { AGENT_VARIABLE, type ShownRecords } from "./messages.js";

const DEFAULT_RATE = 10;
const MAX_RATE = 100;

/** `sluice dev`: see messages.ts about its two processes. */
export async function dev(context: CommandContext): Promise<number> {
  const { terminal } = context;
  const { values } = context;
  const config = configFiles(values);
  const { [AGENT_VARIABLE]: style } = terminal.env;
  if (style !== undefined && process.send !== undefined)
    return (await import("./dev-agent.js")).devAgent(context, style);
  return new DevSession(terminal, config.join(", "), shownRecords(values)).run();
}

function shownRecords(values: CommandContext["values"]): ShownRecords {
  const where = (values["where"] ?? "") as string;
  const problem = filterProblem(where);
  if (problem !== undefined) throw new UsageError(`--where: ${problem}`);
  const rate = (values["rate"] ?? String(DEFAULT_RATE)) as string;
  if (!/^\d{1,3}$/.test(rate) || Number(rate) > MAX_RATE)
    throw new UsageError(`--rate ${rate} is not a number from 0 to ${MAX_RATE}`);
  return { where, rate: Number(rate), at: (values["at"] ?? []) as readonly string[] };
}
