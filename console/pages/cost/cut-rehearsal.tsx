import { useEffect, useState } from "preact/hooks";
import type {
  InsightCut,
  InsightCutRehearsal,
  InsightMeasured,
} from "../../../src/runtime/contract/insight/insight-answers.js";
import { post, request } from "../../api/client.js";
import type { Rehearsal } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Choice } from "../../parts/choice.js";
import { bytesText, countOf, countText, durationText } from "../../parts/format.js";
import { Needs } from "../../parts/needs.js";
import { Text } from "../../parts/text.js";
import { moneyText } from "./money-text.js";

const PATH = "/insight/cut/rehearsal";
const EVERY_MS = 500;
const DURATIONS = [
  ["10", "10 seconds"],
  ["30", "30 seconds"],
  ["120", "2 minutes"],
] as const;
const SHARES = [
  ["0.01", "1 %"],
  ["0.1", "10 %"],
  ["1", "100 %"],
] as const;

interface CutRehearsalProps {
  /** The query of the cut. */
  readonly query: string;
  readonly saves: InsightCut["saves"];
}

/** Rehearses a cut on live traffic, and shows the measured saving beside the estimate. It applies nothing. */
export function CutRehearsal({ query, saves }: CutRehearsalProps) {
  const [seconds, setSeconds] = useState("30");
  const [share, setShare] = useState("0.1");
  const [started, setStarted] = useState<Rehearsal>();
  const [error, setError] = useState<string>();
  const [ended, setEnded] = useState(false);
  const followed = useLoad<InsightCutRehearsal<Rehearsal>>(
    started === undefined ? undefined : PATH,
    ended ? undefined : EVERY_MS,
  );
  const { rehearsal = null, measured = null } = followed.data ?? {};
  const isOurs = rehearsal !== null && rehearsal.id === started?.id;
  // What was loaded before the start is about an earlier rehearsal.
  const isReplaced = rehearsal !== null && started !== undefined && timeOf(rehearsal) > timeOf(started);
  const isRunning = started !== undefined && !ended;
  const state = isOurs ? rehearsal.state : undefined;
  const hasEnded = isReplaced || (isOurs && state !== "sampling" && state !== "comparing");
  if (isRunning && hasEnded) setEnded(true);
  // A rehearsal that is not watched any more would keep others from starting one.
  useEffect(
    () => () => {
      if (isRunning) void request("DELETE", PATH).catch(() => {});
    },
    [isRunning],
  );
  const start = async () => {
    setError(undefined);
    try {
      const body = { seconds: Number(seconds), share: Number(share) };
      const answer = await post<InsightCutRehearsal<Rehearsal>>(`${PATH}${query}`, body);
      setEnded(false);
      setStarted(answer.rehearsal ?? undefined);
      followed.reload();
    } catch (failure) {
      setError((failure as Error).message);
    }
  };
  const cancel = () => request("DELETE", PATH).then(followed.reload, (failure: Error) => setError(failure.message));
  const problem = error ?? (isOurs ? rehearsal.error : isReplaced ? "another rehearsal was started" : undefined);
  return (
    <section aria-label="Rehearsal">
      <h3>Measure it on live traffic</h3>
      <p class="dim">
        Runs this config next to the running one, on a sample of the traffic. Nothing is sent, and the pipelines stay as
        they are.
      </p>
      <Needs right="configure" what="A rehearsal">
        {!isRunning && (
          <div class="filters">
            <Choice label="Take a sample for" value={seconds} choices={DURATIONS} onChange={setSeconds} />
            <Choice label="Share of the batches" value={share} choices={SHARES} onChange={setShare} />
            <button type="button" class="primary" onClick={() => void start()}>
              Rehearse
            </button>
          </div>
        )}
      </Needs>
      {problem !== undefined && (
        <p class="problem" role="alert">
          <Text value={problem} max={400} />
        </p>
      )}
      {isRunning && isOurs && (
        <>
          <progress
            value={state === "sampling" ? rehearsal.seconds - rehearsal.secondsLeft : rehearsal.progress}
            max={state === "sampling" ? rehearsal.seconds : 1}
            aria-label="Progress"
          />
          <p role="status">
            {state === "sampling"
              ? `${countOf(rehearsal.sample.records, "record")}, ${durationText(rehearsal.secondsLeft * 1000)} left to take the sample`
              : `Both configs run on the sample: ${Math.round(rehearsal.progress * 100)} %`}{" "}
            <button type="button" class="danger" onClick={() => void cancel()}>
              Cancel
            </button>
          </p>
        </>
      )}
      {isOurs && state === "cancelled" && <p role="status">The rehearsal was cancelled.</p>}
      {isOurs && measured !== null && <Measured measured={measured} saves={saves} records={rehearsal.sample.records} />}
    </section>
  );
}

function timeOf({ startedAt }: Rehearsal): number {
  return new Date(startedAt).getTime();
}

interface MeasuredProps {
  readonly measured: InsightMeasured;
  readonly saves: InsightCut["saves"];
  readonly records: number;
}

function Measured({ measured, saves, records }: MeasuredProps) {
  const { before, after, notes, costPerDay } = measured;
  const rows: readonly (readonly [string, string, string])[] = [
    ["Bytes", saves === null ? "" : bytesText(saves.bytes), signed(measured.bytes, bytesText)],
    ["Records", saves === null ? "" : countText(saves.records), signed(measured.records, countText)],
    ...(costPerDay === null
      ? []
      : [
          [
            "Cost",
            saves?.costPerDay == null ? "" : moneyText(saves.costPerDay),
            signed(costPerDay, moneyText),
          ] as const,
        ]),
  ];
  return (
    <>
      <table>
        <thead>
          <tr>
            <th>Saved per day</th>
            <th class="number">Estimate</th>
            <th class="number">Measured</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, estimate, value]) => (
            <tr key={name}>
              <td>{name}</td>
              <td data-label="Estimate" class="number">
                {estimate === "" ? "not known" : estimate}
              </td>
              <td data-label="Measured" class="number">
                <strong>{value}</strong>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="dim">
        Of a sample of {countOf(records, "record")}, exporters get {countText(before.records)} →{" "}
        {countText(after.records)} records and {bytesText(before.bytes)} → {bytesText(after.bytes)}. Per day: if traffic
        stays as in the last hour.
      </p>
      {notes.map((note) => (
        <p key={note} class="note">
          <Text value={note} max={400} />
        </p>
      ))}
    </>
  );
}

/** A negative saving means that exporters get more. */
function signed(value: number, text: (amount: number) => string): string {
  return value < 0 ? `−${text(-value)}` : text(value);
}
