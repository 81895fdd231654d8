import type { ComponentContext } from "#contract";
import { limitedLog } from "#contract";
import type { LogEntry } from "./entries/log-entry.js";
import type { EntryExpression } from "./entry-expression.js";

export const ON_ERROR = ["send", "drop", "send_quiet", "drop_quiet"] as const;

/** What every operator of a config has. */
export interface OperatorSettings {
  readonly type: string;
  readonly id: string;
  readonly output?: readonly string[] | undefined;
  readonly if?: EntryExpression | undefined;
  readonly on_error: (typeof ON_ERROR)[number];
}

/** Where an entry goes next. */
export type EntryTarget = (entry: LogEntry) => void;

/** What operators are given: who logs, and the time. */
export type OperatorContext = Pick<ComponentContext, "logger" | "clock">;

/**
 * One step of a chain. It is given entries one by one, and passes on each, or none, or another one later. An entry that it
 * cannot work on is passed on or left out, as `on_error` says, and told of in the log.
 */
export abstract class LogOperator {
  readonly settings: OperatorSettings;
  private targets: readonly EntryTarget[] = [];
  private readonly logFailure: (reason: string) => void;

  constructor(settings: OperatorSettings, { logger, clock }: OperatorContext) {
    this.settings = settings;
    const { id, type, on_error } = settings;
    const isQuiet = on_error.endsWith("_quiet");
    const what = on_error.startsWith("drop") ? "an entry was left out" : "an entry was passed on as it is";
    const write = limitedLog<string>(clock, (reason, suppressed) =>
      logger.error({ operator: id, type, reason, suppressed }, `an operator could not do its work; ${what}`),
    );
    this.logFailure = isQuiet ? () => {} : write;
  }

  /** The operators that this one may pass entries to. */
  connect(targets: readonly EntryTarget[]): void {
    this.targets = targets;
  }

  process(entry: LogEntry): void {
    const { if: condition } = this.settings;
    try {
      if (condition !== undefined && !condition.holds(entry)) return this.pass(entry);
      if (!this.apply(entry)) return;
    } catch (error) {
      this.logFailure(error instanceof Error ? error.message : String(error));
      if (this.settings.on_error.startsWith("drop")) return;
    }
    this.pass(entry);
  }

  /** Changes the entry; false when it is not to be passed on. */
  protected abstract apply(entry: LogEntry): boolean;

  protected pass(entry: LogEntry): void {
    const { targets } = this;
    for (let i = 1; i < targets.length; i++) targets[i]!(entry.copy());
    targets[0]?.(entry);
  }
}

/** An operator that holds entries back. */
export interface HoldingOperator {
  /** Passes on what has waited for long enough. */
  flushOld(): void;
  /** The entries that it holds. */
  readonly heldEntries: Iterable<LogEntry>;
}

export function isHolding(operator: LogOperator): operator is LogOperator & HoldingOperator {
  return "flushOld" in operator;
}
