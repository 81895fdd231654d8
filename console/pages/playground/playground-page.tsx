import { useState } from "preact/hooks";
import { post } from "../../api/client.js";
import type { OttlResult } from "../../api/shapes.js";
import { Badge, ErrorText } from "../../parts/bits.js";
import { DiffView } from "../../parts/diff-view.js";
import { Text } from "../../parts/text.js";
import { escapeHidden } from "../../parts/visible.js";
import { readPlaygroundRecord } from "./playground-record.js";

const SIGNALS = ["logs", "traces", "metrics"];

const EXAMPLE = {
  timeUnixNano: "1700000000000000000",
  severityNumber: 9,
  severityText: "INFO",
  body: { stringValue: "order paid" },
  attributes: [{ key: "order.id", value: { intValue: "42" } }],
};
const STATEMENTS: Readonly<Record<string, string>> = {
  logs: 'set(log.attributes["stage"], "prod")\nset(log.severity_text, "WARN") where log.attributes["order.id"] == 42',
  traces: 'set(span.attributes["stage"], "prod")',
  metrics: 'set(metric.description, "prod")',
};

/** Runs statements on a record and shows the result of each statement. It does not affect any pipeline. */
export function PlaygroundPage() {
  const [sent] = useState(readPlaygroundRecord);
  const [signal, setSignal] = useState(sent?.signal ?? "logs");
  const [statements, setStatements] = useState(STATEMENTS[signal] ?? "");
  const [record, setRecord] = useState(escapeHidden(JSON.stringify(sent?.record ?? EXAMPLE, null, 2)));
  const [results, setResults] = useState<readonly OttlResult[]>();
  const [first, setFirst] = useState<unknown>();
  const [error, setError] = useState<string>();
  const run = async () => {
    setError(undefined);
    try {
      const lines = statements.split("\n").filter((line) => line.trim() !== "");
      const body = { signal, statements: lines, record: JSON.parse(record) as unknown };
      setFirst(body.record);
      setResults((await post<{ results: readonly OttlResult[] }>("/ottl", body)).results);
    } catch (failure) {
      setResults(undefined);
      setError((failure as Error).message);
    }
  };
  return (
    <>
      <h1>OTTL playground</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <div class="columns">
          <label class="field">
            <span>Statements, one a line</span>
            <textarea
              rows={14}
              spellcheck={false}
              value={statements}
              onInput={(event) => setStatements(event.currentTarget.value)}
            />
          </label>
          <label class="field">
            <span>Record, as OTLP/JSON</span>
            <textarea
              rows={14}
              spellcheck={false}
              value={record}
              onInput={(event) => setRecord(event.currentTarget.value)}
            />
          </label>
        </div>
        <p class="toolbar">
          <label class="field inline">
            <span>Signal</span>
            <select value={signal} onChange={(event) => setSignal(event.currentTarget.value)}>
              {SIGNALS.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <button type="submit" class="primary">
            Run
          </button>
        </p>
      </form>
      <ErrorText message={error} />
      {results !== undefined && <Results results={results} first={first} />}
    </>
  );
}

function Results({ results, first }: { results: readonly OttlResult[]; first: unknown }) {
  return (
    <>
      {results.map((result, i) => (
        <section class="card" key={i} aria-label={`Result ${i + 1}`}>
          <header>
            <code>
              <Text value={result.statement} />
            </code>
            {result.error === undefined ? (
              <Badge tone={result.changed ? "good" : "off"}>{result.changed ? "changed" : "no change"}</Badge>
            ) : (
              <Badge tone="bad">error</Badge>
            )}
          </header>
          <ErrorText message={result.error} />
          {result.changed && <DiffView before={i === 0 ? first : results[i - 1]!.record} after={result.record} />}
        </section>
      ))}
    </>
  );
}
