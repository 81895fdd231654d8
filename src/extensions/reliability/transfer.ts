import type { DeadLetterQuery, ImportReport } from "../../plugin.js";
import { type Controls, type Found, search } from "./dead-letters.js";
import { exclusively } from "./exclusive.js";
import { readTransferLine, type Transfer, transferLine } from "./transfer-line.js";

/** Written together, so that they share a commit. */
const AT_ONCE = 32;
/** A file of something else has a problem in every line. */
const MOST_PROBLEMS = 100;

/** The dead letters a query finds, as lines. One whose payload cannot be read any more is left out: it is in no state to travel. */
export async function* exportLines(
  controls: Controls,
  query: DeadLetterQuery,
  onUnreadable: (id: string) => void,
): AsyncGenerator<string> {
  for await (const { control, ref, entry } of search(controls, query)) {
    try {
      yield transferLine({ entry, batch: await control.store.payload(ref) });
    } catch (error) {
      const code = (error as { code?: unknown }).code;
      if (code !== "corrupt" && code !== "not_found") throw error;
      if (code === "corrupt") onUnreadable(entry.id);
    }
  }
}

/**
 * Takes dead letters in, under the ids they had. A line that is damaged, belongs to no exporter here or is here already is
 * reported with its number and changes nothing; empty lines are passed over.
 */
export async function importLines(controls: Controls, lines: AsyncIterable<string>): Promise<ImportReport> {
  const report = new Report();
  let gathered: Numbered[] = [];
  let number = 0;
  for await (const line of lines) {
    number++;
    if (line.trim() === "") continue;
    const transfer = readTransferLine(line);
    if ("problem" in transfer) report.add(number, transfer.problem);
    else gathered.push({ number, transfer });
    if (gathered.length < AT_ONCE) continue;
    await take(controls, gathered, report);
    gathered = [];
  }
  await take(controls, gathered, report);
  return report.result();
}

interface Numbered {
  readonly number: number;
  readonly transfer: Transfer;
}

async function take(controls: Controls, gathered: readonly Numbered[], report: Report): Promise<void> {
  const byExporter = new Map<string, Numbered[]>();
  for (const each of gathered) {
    const { exporter } = each.transfer.entry;
    byExporter.set(exporter, [...(byExporter.get(exporter) ?? []), each]);
  }
  for (const [exporter, group] of byExporter) {
    const control = controls.get(exporter);
    if (control?.store !== undefined) await takeInto(control as Found["control"], group, report);
    else
      for (const { number } of group)
        report.add(number, `there is no queue for an exporter ${JSON.stringify(exporter)} here`);
  }
}

function takeInto({ store }: Found["control"], group: readonly Numbered[], report: Report): Promise<void> {
  return exclusively(store, async () => {
    const fresh = new Map<string, Numbered>();
    for (const each of group) {
      const { id } = each.transfer.entry;
      const isKnown = fresh.has(id) || (await store.find(id)) !== undefined;
      if (isKnown) report.add(each.number, `entry ${id} is here already`);
      else fresh.set(id, each);
    }
    await Promise.all([...fresh.values()].map((each) => put(store, each, report)));
  });
}

async function put(store: Found["control"]["store"], { number, transfer }: Numbered, report: Report): Promise<void> {
  const { entry, batch } = transfer;
  const { pipeline, source, enqueuedAt, generation } = entry;
  try {
    await store.put({ batch, pipeline, source, enqueuedAt, generation, fields: entry });
    report.imported++;
  } catch (error) {
    report.add(number, `it could not be written: ${(error as Error).message}`);
  }
}

class Report {
  imported = 0;
  private readonly problems: { line: number; message: string }[] = [];
  private more = 0;

  add(line: number, message: string): void {
    if (this.problems.length < MOST_PROBLEMS) this.problems.push({ line, message });
    else this.more++;
  }

  result(): ImportReport {
    const problems = this.problems.sort((a, b) => a.line - b.line);
    const last = problems.at(-1);
    if (this.more > 0 && last) problems.push({ line: last.line, message: `and ${this.more} more lines have problems` });
    return { imported: this.imported, problems };
  }
}
