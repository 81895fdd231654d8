import {
  AddOperator,
  FilterOperator,
  FlattenOperator,
  MoveOperator,
  NoopOperator,
  RemoveOperator,
  RetainOperator,
  RouterOperator,
} from "./change-operators.js";
import { ContainerParser } from "./container-parser.js";
import type { LogEntry } from "./entries/log-entry.js";
import { EntrySeverity } from "./entry-severity.js";
import { EntryTime } from "./entry-time.js";
import { EntryTrace } from "./entry-trace.js";
import { LogField } from "./log-field.js";
import {
  type EntryTarget,
  type HoldingOperator,
  isHolding,
  type LogOperator,
  type OperatorContext,
} from "./log-operator.js";
import { type OperatorConfig, operatorIds } from "./operator-schema.js";
import {
  CsvParser,
  JsonArrayParser,
  JsonParser,
  KeyValueParser,
  ReadingOperator,
  RegexParser,
  readScopeName,
} from "./parse-operators.js";
import { RecombineOperator } from "./recombine-operator.js";
import { SyslogParser } from "./syslog-parser.js";
import { AssignKeysOperator, RegexReplaceOperator, SanitizeUtf8Operator, UnquoteOperator } from "./text-operators.js";
import { UriParser } from "./uri-parser.js";

interface ChainContext extends OperatorContext {
  readonly random: () => number;
}

/** The operators of a receiver: entries go in at the first and come out at the end, unless an operator drops them. */
export class OperatorChain {
  private readonly first: EntryTarget;
  private readonly holding: HoldingOperator[] = [];

  constructor(configs: readonly OperatorConfig[], context: ChainContext, end: EntryTarget) {
    const ids = operatorIds(configs);
    const operators = configs.map((config, index) => createOperator({ ...config, id: ids[index]! }, context));
    const targets = new Map<string, EntryTarget>();
    for (const [index, operator] of operators.entries()) targets.set(ids[index]!, (entry) => operator.process(entry));
    const targetsOf = (names: readonly string[] = []) => names.flatMap((name) => targets.get(name) ?? []);
    for (const [index, operator] of operators.entries()) {
      const config = configs[index]!;
      const next = targets.get(ids[index + 1] ?? "") ?? end;
      operator.connect(config.output === undefined ? [next] : targetsOf(config.output));
      if (operator instanceof RouterOperator && config.type === "router") {
        const routes = config.routes.map(({ expr: expression, attributes, output }) => ({
          expression,
          attributes,
          targets: targetsOf(output),
        }));
        const others = config.default && [
          { expression: undefined, attributes: {}, targets: targetsOf(config.default) },
        ];
        operator.setRoutes([...routes, ...(others ?? [])]);
      }
      if (isHolding(operator)) this.holding.push(operator);
    }
    this.first = targets.get(ids[0] ?? "") ?? end;
  }

  process(entry: LogEntry): void {
    this.first(entry);
  }

  get canHold(): boolean {
    return this.holding.length > 0;
  }

  /** Passes on entries that operators have held for long enough. */
  flushOld(): void {
    for (const operator of this.holding) operator.flushOld();
  }

  /** The entries that operators hold. */
  *heldEntries(): Iterable<LogEntry> {
    for (const operator of this.holding) yield* operator.heldEntries;
  }
}

type NamedConfig = OperatorConfig & { readonly id: string };

function createOperator(config: NamedConfig, context: ChainContext): LogOperator {
  switch (config.type) {
    case "noop":
      return new NoopOperator(config, context);
    case "json_parser":
      return new JsonParser(config, context);
    case "json_array_parser":
      return new JsonArrayParser(config, context);
    case "uri_parser":
      return new UriParser(config, context);
    case "unquote":
      return new UnquoteOperator(config, context);
    case "regex_replace":
      return new RegexReplaceOperator(config, context);
    case "sanitize_utf8":
      return new SanitizeUtf8Operator(config, context);
    case "assign_keys":
      return new AssignKeysOperator(config, context);
    case "regex_parser":
      return new RegexParser(config, context);
    case "csv_parser":
      return new CsvParser(config, context);
    case "key_value_parser":
      return new KeyValueParser(config, context);
    case "syslog_parser":
      return new SyslogParser(config, context);
    case "container":
      return new ContainerParser(config, context);
    case "add":
      return new AddOperator(config, context);
    case "remove":
      return new RemoveOperator(config, context);
    case "retain":
      return new RetainOperator(config, context);
    case "move":
    case "copy":
      return new MoveOperator(config, context, config.type === "copy");
    case "flatten": {
      const { root, keys } = config.field;
      return new FlattenOperator({ ...config, parent: new LogField(root, keys.slice(0, -1)) }, context);
    }
    case "recombine":
      return new RecombineOperator(config, context);
    case "router":
      return new RouterOperator(config, context);
    case "filter":
      return new FilterOperator(config, context, context.random);
    default:
      return new ReadingOperator(config, context, readerOf(config));
  }
}

function readerOf(config: NamedConfig): (entry: LogEntry) => void {
  switch (config.type) {
    case "time_parser": {
      const time = new EntryTime(config);
      return (entry) => time.read(entry);
    }
    case "severity_parser": {
      const severity = new EntrySeverity(config);
      return (entry) => severity.read(entry);
    }
    case "trace_parser": {
      const { trace_id, span_id, trace_flags } = config;
      const trace = new EntryTrace({
        trace_id: trace_id.parse_from,
        span_id: span_id.parse_from,
        trace_flags: trace_flags.parse_from,
      });
      return (entry) => trace.read(entry);
    }
    case "scope_name_parser":
      return (entry) => readScopeName(entry, config.parse_from);
    default:
      throw new TypeError(`no such operator: ${config.type}`);
  }
}
