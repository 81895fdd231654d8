import type { Counter } from "#contract";
import { limitedLog } from "#contract";
import type { BuiltInContext } from "#contract/built-in";
import { boundOf } from "./entries/entry-growth.js";
import type { LogEntry } from "./entries/log-entry.js";
import type { LogValue } from "./entries/log-value.js";
import type { EntryExpression } from "./entry-expression.js";

export const ON_ERROR = ["send", "drop", "send_quiet", "drop_quiet"] as const;

/** Settings that every operator has. */
export interface OperatorSettings {
  readonly type: string;
  readonly id: string;
  readonly output?: readonly string[] | undefined;
  readonly if?: EntryExpression | undefined;
  readonly on_error: (typeof ON_ERROR)[number];
}

/** Receives an entry. */
export type EntryTarget = (entry: LogEntry) => void;

/** Services that operators get. */
export type OperatorContext = Pick<BuiltInContext, "logger" | "clock" | "metrics" | "id" | "maxRecordSize">;

/**
 * One step of a chain. It gets entries one by one and passes on each, or none, or another one later. If it fails on an
 * entry, `on_error` decides whether the entry is passed on or dropped. The failure is counted and logged.
 */
export abstract class LogOperator {
  readonly settings: OperatorSettings;
  private targets: readonly EntryTarget[] = [];
  private readonly logFailure: (reason: string) => void;
  private readonly failures: Counter;
  /** How large the operator may make a record, in bytes. */
  protected readonly maxSize: number;

  constructor(settings: OperatorSettings, { id: receiver, logger, clock, metrics, maxRecordSize }: OperatorContext) {
    this.settings = settings;
    this.maxSize = maxRecordSize ?? Number.POSITIVE_INFINITY;
    const { id, type, on_error } = settings;
    const isQuiet = on_error.endsWith("_quiet");
    const what = on_error.startsWith("drop") ? "an entry was dropped" : "an entry was passed on unchanged";
    const write = limitedLog<string>(clock, (reason, suppressed) =>
      logger.error({ operator: id, type, reason, suppressed }, `an operator failed; ${what}`),
    );
    this.logFailure = isQuiet ? () => {} : write;
    const description = "Log entries on which an operator failed.";
    this.failures = metrics.counter("sluice_operator_errors", { description }, { receiver, operator: id });
  }

  /** Sets the operators that this one may pass entries to. */
  connect(targets: readonly EntryTarget[]): void {
    this.targets = targets;
  }

  process(entry: LogEntry): void {
    const { if: condition } = this.settings;
    try {
      if (condition !== undefined && !condition.holds(entry)) return this.pass(entry);
      if (!this.apply(entry)) return;
    } catch (error) {
      this.failures.add(1);
      this.logFailure(error instanceof Error ? error.message : String(error));
      if (this.settings.on_error.startsWith("drop")) return;
    }
    this.pass(entry);
  }

  /** Changes the entry; returns false if it must not be passed on. */
  protected abstract apply(entry: LogEntry): boolean;

  /**
   * To be called before a value is added to an entry. Throws if that would make the entry larger than
   * `service.max_record_size`. `replaced` is a value that the entry loses by it.
   */
  protected makeRoom(entry: LogEntry, value: LogValue, bound = boundOf(value), replaced?: LogValue): void {
    entry.growth.add(entry, value, bound, this.maxSize, replaced);
  }

  protected pass(entry: LogEntry): void {
    const { targets } = this;
    for (let i = 1; i < targets.length; i++) targets[i]!(entry.copy());
    targets[0]?.(entry);
  }
}

/** An operator that can hold entries. */
export interface HoldingOperator {
  /** Passes on entries held for long enough. */
  flushOld(): void;
  /** The entries it holds at the moment. */
  readonly heldEntries: Iterable<LogEntry>;
}

export function isHolding(operator: LogOperator): operator is LogOperator & HoldingOperator {
  return "flushOld" in operator;
}
