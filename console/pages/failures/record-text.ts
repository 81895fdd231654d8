type Plain = Readonly<Record<string, unknown>>;

/** A short text by which people recognise a record: severity, name and body. */
export function recordText(record: Plain): string {
  const body = (record["body"] as { stringValue?: unknown } | undefined)?.stringValue ?? record["body"];
  const parts = [record["severityText"], record["eventName"], record["name"], body];
  const texts = parts.filter((part) => part !== undefined && part !== "");
  return texts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join("  ");
}

/** The text of the first record of an OTLP/JSON payload, whatever its signal; empty if there is none. */
export function firstRecordText(payload: unknown): string {
  const resource = firstOf(payload, ["resourceLogs", "resourceSpans", "resourceMetrics"]);
  const scope = firstOf(resource, ["scopeLogs", "scopeSpans", "scopeMetrics"]);
  const record = firstOf(scope, ["logRecords", "spans", "metrics"]);
  return record === undefined ? "" : recordText(record);
}

function firstOf(value: unknown, names: readonly string[]): Plain | undefined {
  const lists = names.map((name) => (value as Plain | undefined)?.[name]);
  const list = lists.find((each) => Array.isArray(each) && each.length > 0) as readonly unknown[] | undefined;
  return list?.[0] as Plain | undefined;
}
