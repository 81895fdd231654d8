import { boundOf, EntryGrowth } from "./entries/entry-growth.js";
import type { LogEntry } from "./entries/log-entry.js";
import type { EntryExpression } from "./entry-expression.js";
import type { LogField } from "./log-field.js";
import { type HoldingOperator, LogOperator, type OperatorContext, type OperatorSettings } from "./log-operator.js";

interface RecombineSettings extends OperatorSettings {
  readonly is_first_entry?: EntryExpression | undefined;
  readonly is_last_entry?: EntryExpression | undefined;
  readonly combine_field: LogField;
  readonly combine_with: string;
  readonly source_identifier: LogField;
  readonly overwrite_with: "oldest" | "newest";
  readonly force_flush_period: number;
  readonly max_batch_size: number;
  readonly max_unmatched_batch_size: number;
  readonly max_sources: number;
  readonly max_log_size: number;
}

interface HeldEntries {
  readonly entries: LogEntry[];
  readonly texts: string[];
  length: number;
  /** An upper bound for the size of the joined entry. */
  size: number;
  hasMatched: boolean;
  readonly since: number;
}

/**
 * Combines consecutive entries of one source into one. What would be larger than `service.max_record_size` becomes
 * several.
 */
export class RecombineOperator extends LogOperator implements HoldingOperator {
  private readonly recombine: RecombineSettings;
  private readonly context: OperatorContext;
  private readonly sources = new Map<string, HeldEntries>();

  constructor(settings: RecombineSettings, context: OperatorContext) {
    super(settings, context);
    this.recombine = settings;
    this.context = context;
  }

  get heldEntries(): Iterable<LogEntry> {
    return [...this.sources.values()].flatMap(({ entries }) => entries);
  }

  flushOld(): void {
    const now = this.context.clock.monotonic();
    for (const [source, { since }] of this.sources) {
      if (now - since >= this.recombine.force_flush_period) this.flush(source);
    }
  }

  protected apply(entry: LogEntry): boolean {
    const { is_first_entry: first, is_last_entry: last, source_identifier } = this.recombine;
    const isMatch = (first ?? last)!.holds(entry);
    const identifier = source_identifier.get(entry);
    const source = typeof identifier === "string" ? identifier : "";
    if (isMatch && first !== undefined) this.flush(source);
    this.add(source, entry, isMatch);
    if (isMatch && first === undefined) this.flush(source);
    return false;
  }

  private add(source: string, entry: LogEntry, isMatch: boolean): void {
    const { combine_field, max_sources, max_batch_size, max_unmatched_batch_size, max_log_size } = this.recombine;
    const text = combine_field.get(entry);
    const size = typeof text === "string" ? Buffer.byteLength(text) + this.recombine.combine_with.length : 0;
    let held = this.sources.get(source);
    if (held !== undefined && held.size + size > this.maxSize) {
      this.flush(source);
      held = undefined;
    }
    if (held === undefined) {
      if (this.sources.size >= max_sources) for (const each of [...this.sources.keys()]) this.flush(each);
      const around = boundOf(entry.attributes) + boundOf(entry.resource);
      const since = this.context.clock.monotonic();
      held = { entries: [], texts: [], length: 0, size: around, hasMatched: false, since };
      this.sources.set(source, held);
    }
    held.entries.push(entry);
    held.size += size;
    held.hasMatched ||= isMatch;
    if (typeof text === "string") {
      held.texts.push(text);
      held.length += (held.texts.length > 1 ? this.recombine.combine_with.length : 0) + text.length;
    }
    const { length } = held.entries;
    const isUnmatched = !held.hasMatched && max_unmatched_batch_size > 0 && length >= max_unmatched_batch_size;
    if (
      isUnmatched ||
      (max_batch_size > 0 && length >= max_batch_size) ||
      (max_log_size > 0 && held.length > max_log_size)
    )
      this.flush(source);
  }

  private flush(source: string): void {
    const held = this.sources.get(source);
    if (held === undefined) return;
    this.sources.delete(source);
    const { overwrite_with, combine_field, combine_with } = this.recombine;
    const entry = held.entries.at(overwrite_with === "newest" ? -1 : 0)!;
    if (held.texts.length > 0) combine_field.set(entry, held.texts.join(combine_with));
    entry.growth = new EntryGrowth();
    this.pass(entry);
  }
}
