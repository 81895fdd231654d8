/** A log record as a test writes it; what is left out is left out of the OTLP too. */
export interface LogRecord {
  readonly body?: string;
  readonly event?: string;
  readonly severity?: number;
  readonly trace?: string;
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
}

/** An OTLP/JSON request with these log records; a text is a record with this body. */
export function logsBody(records: readonly (string | LogRecord)[], resource: LogRecord["attributes"] = {}): string {
  const logRecords = records.map((each) => record(typeof each === "string" ? { body: each } : each));
  return JSON.stringify({
    resourceLogs: [{ resource: { attributes: attributes(resource) }, scopeLogs: [{ logRecords }] }],
  });
}

function record({ body, event, severity = 9, trace, attributes: own = {} }: LogRecord): object {
  return {
    timeUnixNano: "1",
    severityNumber: severity,
    ...(body === undefined ? {} : { body: { stringValue: body } }),
    ...(event === undefined ? {} : { eventName: event }),
    ...(trace === undefined ? {} : { traceId: trace }),
    attributes: attributes(own),
  };
}

/** Attributes as OTLP/JSON has them. */
export function attributes(values: Readonly<Record<string, string | number | boolean>>): object[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }));
}

function anyValue(value: string | number | boolean): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
