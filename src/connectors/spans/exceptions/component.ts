import { plainValue, plainValueText } from "#otlp/json";
import { type Batch, defineConnector, eachBatch, encodeTree, type Tree } from "../../../plugin.js";
import { type ExceptionsConfig, exceptionsSchema } from "./config.js";
import { ExceptionCounts } from "./exception-counts.js";
import {
  attributesOf,
  attributeValue,
  type ExceptionScope,
  findExceptions,
  type KeyValue,
  type SpanException,
  textAttribute,
} from "./find-exceptions.js";

/**
 * Makes log records or counts of the exceptions that spans have recorded. What it makes carries the debt of the batch
 * it is made of: the sender is answered when it has been accepted too. A batch without exceptions is acknowledged.
 */
export const exceptions = defineConnector<ExceptionsConfig>({
  type: "exceptions",
  summary: "Makes log records and metrics from the exceptions that spans have recorded as events.",
  routes: [
    { from: "traces", to: "metrics" },
    { from: "traces", to: "logs" },
  ],
  // The counts have no resource that would tell those of two workers apart.
  workers: "one",
  schema: exceptionsSchema,
  create(config, { to, clock }) {
    const counts = new ExceptionCounts(config, clock.now());
    return eachBatch((batch, { setback }) => {
      // A batch that was taken out of its pipeline passes unchanged and becomes a dead letter.
      if (setback !== undefined) return batch;
      const found = findExceptions(batch, config.dimensions);
      return to === "logs" ? logsOf(found, config) : counts.add(found, clock.now());
    });
  },
});

const SEVERITY_ERROR = 17;
const STACK_TRACE = "exception.stacktrace";

/** As in the Collector, log records keep the scope of their spans, and have no resource. */
function logsOf(found: readonly SpanException[], config: ExceptionsConfig): Batch | null {
  if (found.length === 0) return null;
  const scopes = new Map<ExceptionScope, Tree[]>();
  for (const exception of found) {
    const records = scopes.get(exception.scope) ?? [];
    scopes.set(exception.scope, records);
    records.push(logRecordOf(exception, config));
  }
  const resourceLogs = [...scopes].map(([{ tree: scope }, logRecords]) => ({
    resource: {},
    scopeLogs: [{ ...(scope && { scope }), logRecords }],
  }));
  return encodeTree("logs", { resourceLogs });
}

function logRecordOf({ span, event, own, dimensions }: SpanException, config: ExceptionsConfig): Tree {
  const attributes = new Map<string, KeyValue>();
  const put = (attribute: KeyValue) => attributes.set(attribute.key, attribute);
  const [service, ...ofSpan] = own;
  for (const attribute of [...attributesOf(span), ...ofSpan, service!]) put(attribute);
  for (const [i, { name }] of config.dimensions.entries()) {
    const value = dimensions[i];
    if (value !== undefined) put(textAttribute(name, textOf(value)));
  }
  put(textAttribute(STACK_TRACE, textOf(attributeValue(attributesOf(event), STACK_TRACE) ?? {})));
  const { traceId, spanId } = span;
  return {
    ...(event["timeUnixNano"] !== undefined && { timeUnixNano: event["timeUnixNano"] }),
    severityNumber: SEVERITY_ERROR,
    severityText: "ERROR",
    attributes: [...attributes.values()] as unknown as Tree[],
    ...(traceId !== undefined && { traceId }),
    ...(spanId !== undefined && { spanId }),
  };
}

function textOf(value: Tree): string {
  return plainValueText(plainValue(value));
}
