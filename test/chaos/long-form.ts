import { writeSync } from "node:fs";

const LONG_FORMS = ["chaos", "chaos:brokers", "chaos:slow-disk"];

/**
 * The short form runs with the other tests; `npm run chaos` is the long one, with a progress line and a summary, and
 * `npm run chaos:brokers` that of brokers and databases alone, `npm run chaos:slow-disk` that of a slow disk. CHAOS_KILLS sets another number of kills, CHAOS_SEED repeats a schedule,
 * CHAOS_MINUTES ends each campaign after that time with the kills that it has.
 */
const WANTED = Number(
  process.env["CHAOS_KILLS"] ?? (LONG_FORMS.includes(process.env["npm_lifecycle_event"] ?? "") ? 500 : 0),
);

export const isLongForm = WANTED > 0;

export const seed = Number(process.env["CHAOS_SEED"] ?? Math.floor(Math.random() * 1e9));

/** Milliseconds after which a campaign kills no more. */
export const maxCampaignMs = Number(process.env["CHAOS_MINUTES"] ?? Number.POSITIVE_INFINITY) * 60_000;

/** Agents that are killed at the same time, where a campaign has several. */
export const agents = isLongForm ? Number(process.env["CHAOS_AGENTS"] ?? 4) : 1;

/** How many kills: `share` of the long form's, or as many as the short form has. */
export function kills(short: number, share = 1): number {
  return isLongForm ? Math.ceil(WANTED * share) : short;
}

/** Vitest's limit for one campaign. */
export function patience(short: number): number {
  return isLongForm ? 3_600_000 : short;
}

/** A line over the last one. Past vitest, which keeps what tests print until they end. */
export function progress(line: string): void {
  if (isLongForm && process.stderr.isTTY !== false) writeSync(2, `\r\x1b[2K${line}`);
}

/** Printed in the long form, and in the short one when something is wrong. */
export function summary(title: string, report: object): string {
  const text = `${title}: ${JSON.stringify(report)}`;
  if (isLongForm) writeSync(2, `\r\x1b[2K${text}\n`);
  return text;
}
