import type { Entry, ImportReport } from "#contract/operations";
import type { Batch } from "#otlp";
import { mayBeSecret } from "../../entry/client-metadata.js";
import { runExclusively } from "../../store/dead-letter-access.js";
import { isEntryGone, type QueueStore } from "../../store/store.js";
import { type Controls, type LocatedEntry, searchDeadLetters } from "../dead-letters.js";
import type { CheckedQuery } from "../search/match-records.js";
import { readTransferLine, type TransferredDeadLetter, writeMaskedLine, writeTransferLine } from "./transfer-line.js";

/** Number of entries written together, so that they share a commit. */
const IMPORT_CHUNK_SIZE = 32;
/** A file of another kind has a problem in every line. */
const MAX_PROBLEMS = 100;

interface ExportServices {
  /** If set, lines have masked payloads and cannot be imported. */
  readonly mask: ((batch: Batch) => Promise<Batch>) | undefined;
  /** Set together with `mask`: returns the entry in the form people may see. */
  readonly show?: ((entry: Entry) => Entry) | undefined;
  readonly onUnreadable: (id: string) => void;
}

/** Yields the dead letters that match a query, as lines. Entries whose payload cannot be read are left out. */
export async function* exportLines(
  controls: Controls,
  query: CheckedQuery,
  { mask, show, onUnreadable }: ExportServices,
): AsyncGenerator<string> {
  for await (const { control, ref, entry } of searchDeadLetters(controls, query)) {
    try {
      const batch = await control.store.payload(ref);
      const shown = withoutSecrets(entry);
      yield mask === undefined
        ? writeTransferLine({ entry: shown, batch })
        : writeMaskedLine({ entry: { ...shown, ...show?.(shown) }, batch: await mask(batch) });
    } catch (error) {
      if (!isEntryGone(error)) throw error;
      if (error.code === "corrupt") onUnreadable(entry.id);
    }
  }
}

/** Yields dead letters with everything they have, for another worker. A journal's cannot go to an exporter. */
export async function* transferLines(candidates: AsyncIterable<LocatedEntry>): AsyncGenerator<string> {
  for await (const { control, ref, entry } of candidates) {
    if (control.pipelines === undefined || entry.arriving !== undefined) continue;
    try {
      yield writeTransferLine({ entry, batch: await control.store.payload(ref) });
    } catch (error) {
      if (!isEntryGone(error)) throw error;
    }
  }
}

/** Headers that identify the sender are exported. Credentials are not, because they do not belong in files. */
function withoutSecrets(entry: Entry): Entry {
  if (entry.metadata === undefined) return entry;
  const kept = Object.entries(entry.metadata).filter(([name]) => !mayBeSecret(name));
  return { ...entry, metadata: Object.fromEntries(kept) };
}

/**
 * Imports dead letters under their original ids. A line that is damaged, belongs to no exporter here, or is here
 * already is reported with its number and changes nothing. Empty lines are skipped.
 */
export async function importLines(controls: Controls, lines: AsyncIterable<string>): Promise<ImportReport> {
  const report = new ImportTally();
  let chunk: NumberedTransfer[] = [];
  let number = 0;
  for await (const line of lines) {
    number++;
    if (line.trim() === "") continue;
    const transfer = readTransferLine(line);
    if ("problem" in transfer) report.add(number, transfer.problem);
    else chunk.push({ number, transfer });
    if (chunk.length < IMPORT_CHUNK_SIZE) continue;
    await importChunk(controls, chunk, report);
    chunk = [];
  }
  await importChunk(controls, chunk, report);
  return report.result();
}

interface NumberedTransfer {
  readonly number: number;
  readonly transfer: TransferredDeadLetter;
}

async function importChunk(controls: Controls, chunk: readonly NumberedTransfer[], report: ImportTally): Promise<void> {
  const byExporter = new Map<string, NumberedTransfer[]>();
  for (const each of chunk) {
    const { exporter } = each.transfer.entry;
    byExporter.set(exporter, [...(byExporter.get(exporter) ?? []), each]);
  }
  for (const [exporter, group] of byExporter) {
    const control = controls.get(exporter);
    if (control?.store !== undefined) await importInto(control.store, group, report);
    else
      for (const { number } of group)
        report.add(number, `there is no queue for an exporter ${JSON.stringify(exporter)} here`);
  }
}

function importInto(store: QueueStore, group: readonly NumberedTransfer[], report: ImportTally): Promise<void> {
  return runExclusively(store, async () => {
    const fresh = new Map<string, NumberedTransfer>();
    for (const each of group) {
      const { id } = each.transfer.entry;
      const isKnown = fresh.has(id) || (await store.find(id)) !== undefined;
      if (isKnown) report.add(each.number, `entry ${id} exists already`);
      else fresh.set(id, each);
    }
    await Promise.all([...fresh.values()].map((each) => putImported(store, each, report)));
  });
}

async function putImported(
  store: QueueStore,
  { number, transfer }: NumberedTransfer,
  report: ImportTally,
): Promise<void> {
  const { entry, batch } = transfer;
  const { pipeline, source, enqueuedAt, generation } = entry;
  try {
    await store.put({ batch, pipeline, source, enqueuedAt, generation, fields: entry, isNew: true });
    report.imported++;
  } catch (error) {
    report.add(number, `it could not be written: ${(error as Error).message}`);
  }
}

class ImportTally {
  imported = 0;
  private readonly problems: { line: number; message: string }[] = [];
  private omitted = 0;

  add(line: number, message: string): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push({ line, message });
    else this.omitted++;
  }

  result(): ImportReport {
    const problems = this.problems.sort((a, b) => a.line - b.line);
    const last = problems.at(-1);
    if (this.omitted > 0 && last)
      problems.push({ line: last.line, message: `and ${this.omitted} more lines have problems` });
    return { imported: this.imported, problems };
  }
}
