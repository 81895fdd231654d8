import type { ComponentChildren } from "preact";
import type { Exporter } from "../../api/shapes.js";
import { Ago, Badge, Facts } from "../../parts/bits.js";
import { bytesText, countOf, countText, durationText, failedSendsText, messageText, toMs } from "../../parts/format.js";
import { Text } from "../../parts/text.js";
import { linkTo } from "../../route.js";
import { QueueHistory } from "./queue-history.js";

/** Facts about an exporter: breaker, queue, dead letters, and results of sending. */
export function ExporterFacts({ exporter }: { exporter: Exporter }) {
  const { id, breaker, queue, deadLetters, lastSentAt, lastError, failureRate, failureTrend, refused } = exporter;
  return (
    <>
      {refused !== undefined && (
        <p class="problem">
          The backend refuses all {refused.signals.join(", ")} since <Ago at={refused.since} />:{" "}
          <Text value={refused.message} /> <Text value={refused.advice} />
        </p>
      )}
      {queue.writeError !== undefined && (
        <p class="problem">
          Nothing can be written to the queue ({queue.writeError.code}): <Text value={queue.writeError.message} />
        </p>
      )}
      <Facts
        rows={[
          ["Breaker", <BreakerFact key="breaker" breaker={breaker} />],
          ["Queue", <QueueFact key="queue" exporter={exporter} />],
          ...(queue.retries === undefined ? [] : ([["Retries", retriesText(queue.retries)]] as const)),
          [
            "Dead letters",
            deadLetters.entries === 0 ? (
              "none"
            ) : (
              <>
                <a href={linkTo("failures", [], { exporter: id })}>
                  {countOf(deadLetters.entries, "entry", "entries")}
                </a>
                {`, ${countOf(deadLetters.items, "record")}, ${bytesText(deadLetters.bytes)}`}
                {deadLetters.oldestAt !== undefined && (
                  <>
                    , oldest <Ago at={deadLetters.oldestAt} />
                  </>
                )}
              </>
            ),
          ],
          ["Last sent", <Ago key="sent" at={lastSentAt} />],
          ["Failed sends", failedSendsText(failureRate, exporter.recentCalls ?? 0, failureTrend)],
          ["Last error", lastError === undefined ? "none" : <ErrorFact key="error" error={lastError} />],
        ]}
      />
    </>
  );
}

function BreakerFact({ breaker }: { breaker: Exporter["breaker"] }): ComponentChildren {
  const tone = breaker.state === "closed" ? "good" : breaker.state === "open" ? "bad" : "warn";
  const left = breaker.probeAt === undefined ? undefined : toMs(breaker.probeAt) - Date.now();
  return (
    <>
      <Badge tone={tone}>{breaker.state.replace("_", " ")}</Badge>
      {breaker.forced && <Badge tone="off">forced</Badge>}
      {breaker.since !== undefined &&
        toMs(breaker.since) > 0 &&
        breaker.state !== "closed" &&
        ` for ${durationText(Date.now() - toMs(breaker.since))}`}
      {left !== undefined &&
        breaker.state === "open" &&
        ` · next probe ${left > 0 ? `in ${durationText(left)}` : "now"}`}
    </>
  );
}

function QueueFact({ exporter: { id, queue } }: { exporter: Exporter }): ComponentChildren {
  if (!queue.enabled) return "off: refused data goes back to the sender";
  return (
    <>
      {queue.entries === 0
        ? "empty"
        : `${countOf(queue.entries, "entry", "entries")}, ${countOf(queue.items, "record")}, ${bytesText(queue.bytes)}`}
      {queue.inFlight > 0 && `, ${queue.inFlight} being sent`}
      {queue.oldestAt !== undefined && queue.entries > 0 && (
        <>
          , oldest <Ago at={queue.oldestAt} />
        </>
      )}
      <QueueHistory exporter={id} bytes={queue.bytes} />
    </>
  );
}

function retriesText({ entries, nextAt }: NonNullable<Exporter["queue"]["retries"]>): string {
  const left = toMs(nextAt) - Date.now();
  const when = left > 0 ? `is due in ${durationText(left)}` : "is due";
  return `${countText(entries)} ${entries === 1 ? "entry waits for its" : "entries wait for their"} retry, the next ${when}`;
}

function ErrorFact({ error }: { error: NonNullable<Exporter["lastError"]> }) {
  return (
    <>
      <strong>
        <Text value={error.class} inline />
      </strong>{" "}
      <Ago at={error.at} />
      <br />
      <span class="dim">
        <Text value={messageText(error)} max={200} />
      </span>
    </>
  );
}
