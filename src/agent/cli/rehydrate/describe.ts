import type { Rehydration } from "#contract/rehydration";
import { durationText } from "#contract/schema";
import { printable } from "#text";
import { pluralize, roughByteSize } from "../print/text.js";

const MAX_SHOWN = 10;
const BAR_WIDTH = 30;

/** The result of a dry run, and what an earlier run means for the next one. */
export function describeEstimate({ estimate, where, from, to, earlier, resumes }: Rehydration): string[] {
  const { objects, bytes, records, matching, sampled } = estimate!;
  if (objects === 0)
    return [
      `There are no objects in ${printable(from)} for these times.`,
      "If the archive has other partitions, name their format with --partition; without partitions: --partition none.",
      "If they are in another time zone than that of the agent's machine, name it with --timezone.",
    ];
  const about = sampled === objects ? "" : "about ";
  const share = where === undefined ? "" : `, of which the condition chooses ${about}${grouped(matching)}`;
  return [
    `${pluralize(objects, "object")} with ${roughByteSize(bytes)} and ${about}${grouped(records)} records${share}, for ${to}.`,
    ...(about === "" ? [] : [`  The number of records is estimated from ${pluralize(sampled, "object")}.`]),
    ...(earlier === undefined
      ? []
      : [`  Rehydration ${earlier.id} has sent ${grouped(earlier.sent)} of them already; they will be sent again.`]),
    ...(resumes === undefined
      ? []
      : [
          `  Rehydration ${resumes.id} was interrupted after ${pluralize(resumes.objects, "object")} and ` +
            `${grouped(resumes.sent)} records; it goes on there. --restart begins anew.`,
        ]),
  ];
}

/** The outcome of a run. */
export function describeJob(job: Rehydration): string[] {
  const { id, state, to, sent, objects, faults, problems, error } = job;
  const bad = Object.values(faults).reduce((sum, count) => sum + count, 0);
  const lines = [
    `${pluralize(sent, "record")} of ${pluralize(objects, "object")} ${sent === 1 ? "was" : "were"} sent to ${to} (rehydration ${id}).`,
  ];
  if (bad > 0) lines.push(`${pluralize(bad, "object")} could not be read, or not completely:`);
  for (const { object, fault, message, sent: part } of problems.slice(0, MAX_SHOWN)) {
    const sentPart = part > 0 ? `; ${pluralize(part, "record")} of it ${part === 1 ? "was" : "were"} sent` : "";
    lines.push(`  ${printable(object)}: ${fault}: ${printable(message)}${sentPart}`);
  }
  if (bad > MAX_SHOWN) lines.push(`  and ${bad - MAX_SHOWN} more; the agent's log names all of them`);
  if (state === "failed") lines.push(`It failed: ${printable(error ?? "")}`);
  if (state !== "done") lines.push("It is not complete. Run the same command again to go on.");
  return lines;
}

/** One line about a running job: a bar, if its size is known, and the time that is left at the speed so far. */
export function progressLine(job: Rehydration, begun: Rehydration, elapsedMs: number): string {
  const { dryRun, objects, bytes, sent, estimate } = job;
  if (dryRun) return `Looking: ${pluralize(objects, "object")}, ${roughByteSize(bytes)}`;
  const perSecond = elapsedMs === 0 ? 0 : Math.round(((sent - begun.sent) / elapsedMs) * 1000);
  const speed = `${grouped(sent)} records, ${grouped(perSecond)} per second`;
  if (estimate === undefined || estimate.bytes === 0) return speed;
  const share = Math.min(1, bytes / estimate.bytes);
  const doneNow = bytes - begun.bytes;
  const leftMs = doneNow === 0 ? undefined : (elapsedMs / doneNow) * Math.max(0, estimate.bytes - bytes);
  const filled = Math.round(share * BAR_WIDTH);
  const bar = `[${"#".repeat(filled)}${" ".repeat(BAR_WIDTH - filled)}] ${Math.floor(share * 100)} %`;
  return `${bar}, ${speed}${leftMs === undefined ? "" : `, ${durationText(Math.ceil(leftMs / 1000) * 1000)} left`}`;
}

function grouped(value: number): string {
  return value.toLocaleString("en-US");
}
