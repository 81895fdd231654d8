import { query } from "../../api/client.js";
import { useOverview } from "../../api/overview.js";
import type { Alert, Group, History, Overview } from "../../api/shapes.js";
import { type Loaded, useLoad } from "../../api/use-load.js";
import { Ago, Badge, Facts, Load, StateBadge } from "../../parts/bits.js";
import { bytesText, countOf, countText, durationText, messageText, rateText } from "../../parts/format.js";
import { Needs } from "../../parts/needs.js";
import { Sparkline } from "../../parts/sparkline.js";
import { Text } from "../../parts/text.js";
import { linkTo } from "../../route.js";
import { Changes } from "./changes.js";
import { healthText } from "./health-text.js";

const EVERY_MS = 5_000;
const CAUSES_EVERY_MS = 10_000;
const MAX_CAUSES = 5;

/** How the agent is: health, alerts, traffic, queues, dead letters, and what changed last. */
export function OverviewPage() {
  const overview = useOverview();
  const history = useLoad<History>(`/history${query({ node: "agent" })}`, EVERY_MS);
  return (
    <>
      <h1>Overview</h1>
      <Needs right="view" what="The overview">
        {overview === undefined && <p class="empty">Loading…</p>}
      </Needs>
      {overview !== undefined && (
        <>
          <Health overview={overview} />
          <div class="columns">
            <Traffic history={history} />
            <Alerts alerts={overview.alerts} />
            <Queues overview={overview} history={history.data} />
            <Causes overview={overview} />
          </div>
          <Changes />
        </>
      )}
    </>
  );
}

function Health({ overview }: { overview: Overview }) {
  const { tone, text } = healthText(overview);
  const all = [...overview.exporters.unwell, ...overview.receivers.unwell];
  const unwell = [...all.filter(({ state }) => state === "DOWN"), ...all.filter(({ state }) => state !== "DOWN")];
  return (
    <section class={`card health ${tone}`} aria-label="Health">
      <p role="status">{text}</p>
      {unwell.length > 0 && (
        <ul class="plain stack">
          {unwell.map(({ id, state, why }) => (
            <li key={id}>
              <StateBadge state={state} />{" "}
              <a href={linkTo("exporters")}>
                <Text value={id} inline max={80} />
              </a>
              : <Text value={why} max={200} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Alerts({ alerts }: { alerts: readonly Alert[] }) {
  const firing = alerts.filter(({ state }) => state === "firing");
  const pending = alerts.filter(({ state }) => state === "pending");
  return (
    <section class="card" aria-label="Alerts">
      <header>
        <h2>Alerts</h2>
        {firing.length > 0 && <Badge tone="bad">{firing.length} firing</Badge>}
      </header>
      {alerts.length === 0 && <p class="dim">No alert is firing.</p>}
      <ul class="plain stack">
        {[...firing, ...pending].map((alert) => (
          <AlertRow key={`${alert.name} ${alert.target}`} alert={alert} />
        ))}
      </ul>
    </section>
  );
}

function AlertRow({ alert: { name, severity, state, since, summary } }: { alert: Alert }) {
  const isFiring = state === "firing";
  return (
    <li>
      <Badge tone={!isFiring ? "off" : severity === "critical" ? "bad" : "warn"}>
        {isFiring ? severity : "pending"}
      </Badge>{" "}
      <Text value={summary} max={200} />{" "}
      <small>
        since <Ago at={since} /> ·{" "}
        <a href={`/docs/runbook.md#${name.toLowerCase()}`} target="_blank" rel="noopener">
          runbook
        </a>
      </small>
    </li>
  );
}

/** The rates that are shown even when they are 0, and those that are shown only when they are not. */
const RATES = [
  ["in", "In", true],
  ["out", "Out", true],
  ["refused", "Refused", false],
  ["dropped", "Dropped", false],
  ["failed", "Failed", false],
] as const;

function Traffic({ history }: { history: Loaded<History> }) {
  return (
    <section class="card" aria-label="Traffic">
      <header>
        <h2>Traffic</h2>
        <span class="spacer" />
        <a href={linkTo("pipelines")}>Pipelines</a>
      </header>
      <Load of={history} part="Traffic">
        {({ series, stepMs }) => {
          if ((series["in"]?.length ?? 0) === 0) return <p class="dim">The first figures come after five seconds.</p>;
          return (
            <>
              <table class="metrics">
                <tbody>
                  {RATES.map(([name, label, isAlways]) => {
                    const values = series[name] ?? [];
                    const max = Math.max(0, ...values.map((value) => value ?? 0));
                    if (!isAlways && max === 0) return null;
                    return (
                      <tr key={name}>
                        <th scope="row">{label}</th>
                        <td>
                          <Sparkline values={values} label={`${label}, at most ${rateText(max)} records per second`} />
                        </td>
                        <td class="number">
                          <strong>{rateText(values.at(-1) ?? 0)}</strong> records/s
                        </td>
                        <td class="dim number">max {rateText(max)}</td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
              <small>The last {durationText(series["in"]!.length * stepMs)}.</small>
            </>
          );
        }}
      </Load>
    </section>
  );
}

function Queues({ overview: { queue }, history }: { overview: Overview; history: History | undefined }) {
  const ages = history?.series["queueAge"] ?? [];
  const max = Math.max(0, ...ages.map((value) => value ?? 0));
  return (
    <section class="card" aria-label="Queues">
      <header>
        <h2>Queues</h2>
        <span class="spacer" />
        <a href={linkTo("exporters")}>Exporters</a>
      </header>
      <Facts
        rows={[
          [
            "Oldest entry",
            queue.oldestAt === undefined ? (
              "none waits"
            ) : (
              <>
                <Ago at={queue.oldestAt} />, waits for <Text value={queue.oldestOf ?? ""} inline max={80} />
              </>
            ),
          ],
          [
            "Waiting",
            queue.entries === 0
              ? "nothing"
              : `${countOf(queue.entries, "entry", "entries")}, ${countOf(queue.items, "record")}, ${bytesText(queue.bytes)}`,
          ],
        ]}
      />
      {ages.length > 1 && max > 0 && (
        <span class="history">
          <Sparkline values={ages} label={`age of the oldest entry, at most ${durationText(max * 1000)}`} />
          <small>
            Age in the last {durationText(ages.length * history!.stepMs)}, at most {durationText(max * 1000)}
          </small>
        </span>
      )}
    </section>
  );
}

function Causes({ overview: { deadLetters } }: { overview: Overview }) {
  const groups = useLoad<{ groups: readonly Group[]; total: number }>(
    `/dead-letters/groups${query({ limit: MAX_CAUSES })}`,
    CAUSES_EVERY_MS,
  );
  return (
    <section class="card" aria-label="Dead letters">
      <header>
        <h2>Dead letters</h2>
        {deadLetters.entries > 0 && <Badge tone="warn">{countText(deadLetters.entries)}</Badge>}
        <span class="spacer" />
        <a href={linkTo("failures")}>Failures</a>
      </header>
      <Load of={groups} part="Dead letters">
        {({ groups: causes, total }) =>
          causes.length === 0 ? (
            <p class="dim">There are none.</p>
          ) : (
            <>
              <ul class="plain stack">
                {causes.map((group) => (
                  <CauseRow key={`${group.signature} ${group.exporter} ${group.reason}`} group={group} />
                ))}
              </ul>
              {total > causes.length && <small>And {countOf(total - causes.length, "other cause")}.</small>}
            </>
          )
        }
      </Load>
    </section>
  );
}

function CauseRow({ group: { signature, exporter, reason, error, entries, lastAt } }: { group: Group }) {
  const { class: name, message } = typeof error === "string" ? { class: error, message: "" } : error;
  const details = messageText({ class: name, message });
  return (
    <li>
      <strong>{countText(entries)}</strong>{" "}
      <a href={linkTo("failures", [], { signature, exporter, reason })}>
        <Text value={name} inline max={80} />
      </a>{" "}
      {details !== "" && details !== name && (
        <span class="dim">
          <Text value={details} inline max={80} />{" "}
        </span>
      )}
      at <Text value={exporter} inline max={60} />{" "}
      <small>
        last <Ago at={lastAt} />
      </small>
    </li>
  );
}
