import type { LogEntry } from "./entries/log-entry.js";
import { copyValue, isLogMap, type LogValue, newLogMap } from "./entries/log-value.js";
import { type EntryExpression, type EntryTemplate, EntryValue } from "./entry-expression.js";
import type { LogField } from "./log-field.js";
import { type EntryTarget, LogOperator, type OperatorContext, type OperatorSettings } from "./log-operator.js";

/** Passes entries on unchanged. */
export class NoopOperator extends LogOperator {
  protected apply(): boolean {
    return true;
  }
}

export class AddOperator extends LogOperator {
  private readonly field: LogField;
  private readonly value: LogValue | EntryValue;

  constructor(settings: OperatorSettings & { field: LogField; value: LogValue }, context: OperatorContext) {
    super(settings, context);
    this.field = settings.field;
    this.value = typeof settings.value === "string" ? new EntryValue(settings.value) : settings.value;
  }

  protected apply(entry: LogEntry): boolean {
    const value = this.value instanceof EntryValue ? this.value.of(entry) : copyValue(this.value);
    this.makeRoom(entry, value);
    this.field.set(entry, value);
    return true;
  }
}

export class RemoveOperator extends LogOperator {
  private readonly field: LogField;

  constructor(settings: OperatorSettings & { field: LogField }, context: OperatorContext) {
    super(settings, context);
    this.field = settings.field;
  }

  protected apply(entry: LogEntry): boolean {
    if (this.field.delete(entry) === undefined) throw new Error(`there is no ${this.field}`);
    return true;
  }
}

/** Keeps only these fields in the part they belong to: body, attributes or resource. */
export class RetainOperator extends LogOperator {
  private readonly fields: readonly LogField[];

  constructor(settings: OperatorSettings & { fields: readonly LogField[] }, context: OperatorContext) {
    super(settings, context);
    this.fields = settings.fields;
  }

  protected apply(entry: LogEntry): boolean {
    const kept = this.fields.map((field) => [field, field.get(entry)] as const);
    const roots = new Set(this.fields.map(({ root }) => root));
    if (roots.has("body")) entry.body = null;
    if (roots.has("attributes")) entry.attributes = newLogMap();
    if (roots.has("resource")) {
      const resource = entry.ownResource();
      for (const key of Object.keys(resource)) delete resource[key];
    }
    for (const [field, value] of kept) if (value !== undefined) field.set(entry, value);
    return true;
  }
}

export class MoveOperator extends LogOperator {
  private readonly from: LogField;
  private readonly to: LogField;
  private readonly keeps: boolean;

  /** With `keeps` the value also stays at its old place. */
  constructor(settings: OperatorSettings & { from: LogField; to: LogField }, context: OperatorContext, keeps: boolean) {
    super(settings, context);
    this.from = settings.from;
    this.to = settings.to;
    this.keeps = keeps;
  }

  protected apply(entry: LogEntry): boolean {
    const value = this.from.get(entry);
    if (value === undefined) throw new Error(`there is no ${this.from}`);
    if (this.keeps) {
      this.makeRoom(entry, value);
      this.to.set(entry, copyValue(value));
    } else {
      this.from.delete(entry);
      this.to.set(entry, value);
    }
    return true;
  }
}

/** Replaces a map by its members. */
export class FlattenOperator extends LogOperator {
  private readonly field: LogField;
  private readonly parent: LogField;

  constructor(settings: OperatorSettings & { field: LogField; parent: LogField }, context: OperatorContext) {
    super(settings, context);
    this.field = settings.field;
    this.parent = settings.parent;
  }

  protected apply(entry: LogEntry): boolean {
    const value = this.field.get(entry);
    if (value === undefined) throw new Error(`there is no ${this.field}`);
    if (!isLogMap(value)) throw new Error(`${this.field} is not a map`);
    this.field.delete(entry);
    for (const key of Object.keys(value)) this.parent.child(key).set(entry, value[key]!);
    return true;
  }
}

/** Drops all entries, or a share of them, for which its expression is true. */
export class FilterOperator extends LogOperator {
  private readonly expression: EntryExpression;
  private readonly ratio: number;
  private readonly random: () => number;

  constructor(
    settings: OperatorSettings & { expr: EntryExpression; drop_ratio: number },
    context: OperatorContext,
    random: () => number,
  ) {
    super(settings, context);
    this.expression = settings.expr;
    this.ratio = settings.drop_ratio;
    this.random = random;
  }

  protected apply(entry: LogEntry): boolean {
    return !this.expression.holds(entry) || (this.ratio < 1 && this.random() >= this.ratio);
  }
}

/** A route for entries, and the attributes it adds. */
interface Route {
  readonly expression: EntryExpression | undefined;
  readonly attributes: Readonly<Record<string, EntryTemplate>>;
  readonly targets: readonly EntryTarget[];
}

/**
 * Sends an entry along the first route whose expression is true. Entries without a route are dropped, as in the
 * Collector.
 */
export class RouterOperator extends LogOperator {
  private routes: readonly Route[] = [];

  setRoutes(routes: readonly Route[]): void {
    this.routes = routes;
  }

  protected apply(entry: LogEntry): boolean {
    const route = this.routes.find(({ expression }) => this.wants(expression, entry));
    if (route === undefined) return false;
    this.connect(route.targets);
    for (const [name, value] of Object.entries(route.attributes)) {
      const text = value.text(entry);
      this.makeRoom(entry, text);
      entry.attributes[name] = text;
    }
    return true;
  }

  /** An expression without a value for an entry counts as false. */
  private wants(expression: EntryExpression | undefined, entry: LogEntry): boolean {
    if (expression === undefined) return true;
    try {
      return expression.holds(entry);
    } catch {
      return false;
    }
  }
}
