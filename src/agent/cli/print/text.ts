import { printable } from "#text";

/** Formats times, counts and errors for display. Values from outside are made printable. */

/** `2026-01-31 08:00:00`, in the local time zone. */
export function timeText(time: number | undefined): string {
  if (time === undefined) return "-";
  const local = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19).replace("T", " ");
}

/** `3m ago` */
export function ageText(time: number | undefined, now: number): string {
  if (time === undefined) return "-";
  return now - time < 1000 ? "just now" : `${roughDuration(now - time)} ago`;
}

/** A rounded duration: `12s`, `3m`, `5h`, `2d`. */
export function roughDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 90_000) return `${Math.round(ms / 1000)}s`;
  if (ms < 90 * 60_000) return `${Math.round(ms / 60_000)}m`;
  if (ms < 48 * 3_600_000) return `${Math.round(ms / 3_600_000)}h`;
  return `${Math.round(ms / 86_400_000)}d`;
}

export function roughByteSize(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let amount = bytes;
  let unit = 0;
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024;
    unit++;
  }
  return `${amount >= 100 || unit === 0 ? Math.round(amount) : amount.toFixed(1)} ${units[unit]}`;
}

/** `1 dead letter`, `2 dead letters` */
export function pluralize(number: number, noun: string, plural = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`;
}

/** `HTTP 400: bad tenant`, without a class that is unknown or that the message begins with. */
export function errorText({ class: kind, message }: { readonly class: string; readonly message: string }): string {
  if (message === "") return printable(kind);
  return printable(kind === "unknown" || message.startsWith(kind) ? message : `${kind}: ${message}`);
}

/** Counts of exporters by state, worst first: "1 of 3 exporters DOWN, 2 UP". */
export function exporterStates(exporters: readonly { readonly state: string }[]): string {
  const counts = (["DOWN", "DEGRADED", "UP"] as const).flatMap((state) => {
    const count = exporters.filter((each) => each.state === state).length;
    return count === 0 ? [] : [[state, count] as const];
  });
  const all = pluralize(exporters.length, "exporter");
  if (counts.length === 0) return all;
  return counts.map(([state, count], i) => `${count}${i === 0 ? ` of ${all}` : ""} ${state}`).join(", ");
}
