import type { RehearsalReport } from "../../api/shapes.js";
import { Badge, Empty } from "../../parts/bits.js";
import { bytesText, countText } from "../../parts/format.js";
import { Text } from "../../parts/text.js";
import { ChangedFields, RecordExamples } from "./record-changes.js";

/** The difference that the new config makes. */
export function ReportView({ report }: { report: RehearsalReport }) {
  const { total, moved, newErrors, cpu } = report;
  const isSame = total.dropped + total.new + total.changed + total.moved + newErrors === 0;
  return (
    <>
      <ul class="totals" aria-label="Totals">
        <Total count={total.dropped} text="dropped" />
        <Total count={total.new} text="new" />
        <Total count={total.changed} text="changed" />
        {total.moved > 0 && <Total count={total.moved} text="moved" />}
        <Total count={newErrors} text="new errors" />
        {cpu.after !== undefined && (
          <li>
            <strong>
              {cpu.before === undefined ? "" : `${cpu.before.toFixed(2)} → `}
              {cpu.after.toFixed(2)} µs
            </strong>
            CPU per record
          </li>
        )}
      </ul>
      {isSame && <Empty>No difference: the exporters would get the same records.</Empty>}
      <Exporters report={report} />
      {moved.length > 0 && (
        <section class="card">
          <h2>Moved to another exporter</h2>
          <ul class="plain">
            {moved.map(({ from, to, records }) => (
              <li key={`${from} ${to}`}>
                {countText(records)} records from <Text value={from} /> to <Text value={to} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <Errors errors={report.errors} />
      <ChangedFields report={report} />
      <RecordExamples examples={report.examples} />
    </>
  );
}

function Total({ count, text }: { count: number; text: string }) {
  return (
    <li>
      <strong>{countText(count)}</strong>
      {text}
    </li>
  );
}

function Exporters({ report: { exporters } }: { report: RehearsalReport }) {
  return (
    <section aria-label="Exporters">
      <table>
        <thead>
          <tr>
            <th>Exporter</th>
            <th>Signal</th>
            <th class="number">Records before</th>
            <th class="number">after</th>
            <th class="number">Dropped</th>
            <th class="number">New</th>
            <th class="number">Changed</th>
            <th class="number">Bytes before</th>
            <th class="number">after</th>
          </tr>
        </thead>
        <tbody>
          {exporters.map(({ exporter, signal, before, after, dropped, new: added, changed }) => (
            <tr key={`${exporter} ${signal}`}>
              <td data-label="Exporter">
                <strong>
                  <Text value={exporter} inline max={80} />
                </strong>
              </td>
              <td data-label="Signal">{signal}</td>
              <NumberCell label="Before" value={countText(before.records)} />
              <NumberCell label="After" value={countText(after.records)} />
              <NumberCell label="Dropped" value={countText(dropped)} isMarked={dropped > 0} />
              <NumberCell label="New" value={countText(added)} isMarked={added > 0} />
              <NumberCell label="Changed" value={countText(changed)} isMarked={changed > 0} />
              <NumberCell label="Bytes before" value={bytesText(before.bytes)} />
              <NumberCell label="Bytes after" value={bytesText(after.bytes)} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function NumberCell({ label, value, isMarked = false }: { label: string; value: string; isMarked?: boolean }) {
  return (
    <td data-label={label} class="number">
      {isMarked ? <strong>{value}</strong> : value}
    </td>
  );
}

function Errors({ errors }: { errors: RehearsalReport["errors"] }) {
  if (errors.length === 0) return null;
  return (
    <section class="card" aria-label="Errors">
      <h2>Errors</h2>
      <table>
        <thead>
          <tr>
            <th>Kind</th>
            <th>Where</th>
            <th>Message</th>
            <th class="number">Before</th>
            <th class="number">After</th>
          </tr>
        </thead>
        <tbody>
          {errors.map(({ kind, where, message, before, after }) => (
            <tr key={`${kind} ${where} ${message}`}>
              <td data-label="Kind">
                <Badge tone={after > before ? "bad" : "off"}>{kind.replaceAll("_", " ")}</Badge>
              </td>
              <td data-label="Where">
                <Text value={where} inline max={80} />
              </td>
              <td data-label="Message" class="wide">
                <Text value={message} max={300} />
              </td>
              <NumberCell label="Before" value={countText(before)} />
              <NumberCell label="After" value={countText(after)} isMarked={after > before} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
