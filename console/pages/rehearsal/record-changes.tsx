import type { RehearsalReport } from "../../api/shapes.js";
import { Badge } from "../../parts/bits.js";
import { countText } from "../../parts/format.js";
import { Text } from "../../parts/text.js";

const CHANGES = { added: "good", removed: "bad", changed: "warn" } as const;

/** The fields that differ, with examples side by side. */
export function ChangedFields({ report }: { report: RehearsalReport }) {
  const { fields, changedExamined, total } = report;
  if (fields.length === 0) return null;
  return (
    <section class="card" aria-label="Changed fields">
      <header>
        <h2>Fields</h2>
        {changedExamined < total.changed && (
          <small>
            {countText(changedExamined)} of {countText(total.changed)} changed records examined
          </small>
        )}
      </header>
      <table>
        <thead>
          <tr>
            <th>Change</th>
            <th>Field</th>
            <th>Exporter</th>
            <th class="number">Records</th>
            <th>Before</th>
            <th>After</th>
          </tr>
        </thead>
        <tbody>
          {fields.map(({ exporter, signal, field, change, records, examples }) => (
            <tr key={`${exporter} ${signal} ${change} ${field}`}>
              <td data-label="Change">
                <Badge tone={CHANGES[change]}>{change}</Badge>
              </td>
              <td data-label="Field" class="wide">
                <code>
                  <Text value={field} max={200} />
                </code>
              </td>
              <td data-label="Exporter">
                <Text value={exporter} inline max={80} />
              </td>
              <td data-label="Records" class="number">
                {countText(records)}
              </td>
              <Values label="Before" values={examples.map(({ before }) => before)} />
              <Values label="After" values={examples.map(({ after }) => after)} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Values of the same records stand in the same lines of both columns. */
function Values({ label, values }: { label: string; values: readonly (string | undefined)[] }) {
  return (
    <td data-label={label} class="values">
      {values.map((value, i) => (
        <div key={i} class="mono">
          {value === undefined ? <span class="dim">–</span> : <Text value={value} max={120} />}
        </div>
      ))}
    </td>
  );
}

/** Records that only one of the configs lets through. */
export function RecordExamples({ examples }: { examples: RehearsalReport["examples"] }) {
  if (examples.length === 0) return null;
  return (
    <section class="card" aria-label="Examples">
      <h2>Examples</h2>
      {examples.map(({ exporter, what, fields }, i) => (
        <details key={i} open={i === 0}>
          <summary>
            <Badge tone={what === "dropped" ? "bad" : "good"}>{what}</Badge> at{" "}
            <Text value={exporter} inline max={80} />
            {": "}
            <Text value={summaryOf(fields)} inline max={100} />
          </summary>
          <dl class="facts record">
            {Object.entries(fields).map(([name, value]) => (
              <div key={name}>
                <dt class="mono">
                  <Text value={name} max={100} />
                </dt>
                <dd class="mono">
                  <Text value={value} max={200} />
                </dd>
              </div>
            ))}
          </dl>
        </details>
      ))}
    </section>
  );
}

function summaryOf(fields: Readonly<Record<string, string>>): string {
  return fields["body"] ?? fields["name"] ?? Object.values(fields)[0] ?? "";
}
