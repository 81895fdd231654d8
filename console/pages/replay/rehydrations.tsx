import { useState } from "preact/hooks";
import type { Rehydration } from "../../../src/runtime/contract/rehydration/rehydration.js";
import { post, request, segment } from "../../api/client.js";
import type { Exporter } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Ago, Badge, Empty, ErrorText, Load, type Tone } from "../../parts/bits.js";
import { Choice } from "../../parts/choice.js";
import { bytesText, clockText, countOf } from "../../parts/format.js";
import { Needs } from "../../parts/needs.js";
import { Text } from "../../parts/text.js";
import { WorkProgress } from "../../parts/work-progress.js";

const EVERY_MS = 2_000;
const TONES: Readonly<Record<string, Tone>> = { running: "info", done: "good", failed: "bad", interrupted: "warn" };

/** Archived records that are sent again: an estimate first, then the work with its progress. */
export function Rehydrations() {
  const loaded = useLoad<{ rehydrations: readonly Rehydration[] }>("/rehydrations?limit=20", EVERY_MS);
  return (
    <section class="card" aria-label="Rehydrations">
      <h2>Archived data</h2>
      <p class="dim">
        Sends records from an archive (a bucket of S3, or a folder on the agent's machine) to an exporter again.
      </p>
      <Needs right="replay" what="Bringing archived data back">
        <Needs right="configure" what="Choosing what the agent reads">
          <RehydrationForm onStarted={loaded.reload} />
        </Needs>
      </Needs>
      <Load of={loaded} part="Rehydrations">
        {({ rehydrations }) =>
          rehydrations.length === 0 ? (
            <Empty>No archived data was brought back yet.</Empty>
          ) : (
            rehydrations.map((each) => <RehydrationJob key={each.id} job={each} onChanged={loaded.reload} />)
          )
        }
      </Load>
    </section>
  );
}

const NEW_DRAFT = {
  from: "",
  to: "",
  since: "1d",
  until: "",
  timezone: "",
  where: "",
  region: "",
  endpoint: "",
};
/** They make no sense for folders. */
const S3_FIELDS = ["region", "endpoint"];

function RehydrationForm({ onStarted }: { onStarted: () => void }) {
  const exporters = useLoad<{ exporters: readonly Exporter[] }>("/exporters").data?.exporters ?? [];
  const [draft, setDraft] = useState(NEW_DRAFT);
  const [pathStyle, setPathStyle] = useState(false);
  /** The estimated request. No other can be started. */
  const [estimated, setEstimated] = useState("");
  const [error, setError] = useState<string>();
  const to = draft.to || exporters[0]?.id || "";
  const isS3 = draft.from.startsWith("s3:");
  const filled = Object.entries({ ...draft, to }).filter(([, value]) => value.trim() !== "");
  const body = {
    ...Object.fromEntries(filled.filter(([name]) => isS3 || !S3_FIELDS.includes(name))),
    ...(isS3 && pathStyle && { pathStyle }),
  };
  const asked = JSON.stringify(body);
  const start = (dryRun: boolean) =>
    post("/rehydrations", { ...body, ...(dryRun && { dryRun }) }).then(
      () => {
        setError(undefined);
        setEstimated(dryRun ? asked : "");
        onStarted();
      },
      (failure: Error) => setError(failure.message),
    );
  const field = (name: keyof typeof draft, label: string, placeholder: string) => (
    <label class="field">
      <span>{label}</span>
      <input
        value={draft[name]}
        placeholder={placeholder}
        spellcheck={false}
        onInput={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        void start(true);
      }}
    >
      {field("from", "From", "s3://archive/prod")}
      {field("since", "Since", "2026-01-31T08:00 or 7d")}
      {field("until", "Until", "now")}
      {field("timezone", "Time zone of the archive's folders", "that of the agent's machine")}
      {field("where", "OTTL condition", "severity_number >= 17")}
      {isS3 && (
        <>
          {field("region", "Region", "us-east-1")}
          {field("endpoint", "Server, if it is not AWS", "https://minio.example:9000")}
          <label class="check">
            <input
              type="checkbox"
              checked={pathStyle}
              onChange={(event) => setPathStyle(event.currentTarget.checked)}
            />
            <span>Name the bucket in the path of URLs, as MinIO needs it</span>
          </label>
        </>
      )}
      <Choice
        label="To"
        value={to}
        choices={exporters.map(({ id }) => [id, id])}
        onChange={(chosen) => setDraft({ ...draft, to: chosen })}
      />
      <footer>
        <button type="submit" disabled={draft.from.trim() === ""}>
          Estimate
        </button>
        <button type="button" class="primary" disabled={estimated !== asked} onClick={() => void start(false)}>
          Start
        </button>
      </footer>
      <ErrorText message={error} />
    </form>
  );
}

function RehydrationJob({ job, onChanged }: { job: Rehydration; onChanged: () => void }) {
  const { id, state, by, from, to, since, until, dryRun, estimate, startedAt } = job;
  const [error, setError] = useState<string>();
  const cancel = () =>
    request("DELETE", `/rehydrations/${segment(id)}`).then(onChanged, (failure: Error) => setError(failure.message));
  const problems = Object.values(job.faults).reduce((sum, count) => sum + (count ?? 0), 0);
  return (
    <article class="card" aria-label={`${dryRun ? "Estimate" : "Rehydration"} ${id}`}>
      <header>
        <h3>
          {dryRun ? "Estimate" : "Rehydration"}: <Text value={from} inline max={120} /> to{" "}
          <Text value={to} inline max={80} />
        </h3>
        <Badge tone={TONES[state] ?? "off"}>{state}</Badge>
        <span class="spacer" />
        <small>
          <Text value={by} inline max={60} />, <Ago at={startedAt} />
        </small>
        {state === "running" && (
          <Needs right="replay">
            <button type="button" onClick={() => void cancel()}>
              Cancel
            </button>
          </Needs>
        )}
      </header>
      <p class="dim">
        {clockText(since)} to {clockText(until)}
        {job.where !== undefined && (
          <>
            , <Text value={job.where} inline max={200} />
          </>
        )}
      </p>
      {estimate !== undefined && (
        <p>
          {countOf(estimate.objects, "object")}, {bytesText(estimate.bytes)},{" "}
          {estimate.sampled < estimate.objects ? "about " : ""}
          {countOf(estimate.records, "record")}; {countOf(estimate.matching, "matches", "match")}
        </p>
      )}
      {job.earlier !== undefined && (
        <p class="note">
          The same request sent {countOf(job.earlier.sent, "record")} <Ago at={job.earlier.endedAt} />. They would be
          sent again.
        </p>
      )}
      {job.resumes !== undefined && (
        <p class="note">
          The same request was interrupted after {countOf(job.resumes.objects, "object")}. It would go on there.
        </p>
      )}
      <ErrorText message={job.error} />
      {!dryRun && (
        <WorkProgress
          label={`Objects of ${id}`}
          done={job.objects}
          total={estimate?.objects ?? job.objects}
          isMoving={state === "running"}
        >
          {countOf(job.sent, "record")} sent
        </WorkProgress>
      )}
      {problems > 0 && (
        <p class="note">
          {countOf(problems, "object has a problem", "objects have problems")}:{" "}
          <Text value={job.problems[0]?.message ?? ""} max={200} />
        </p>
      )}
      <ErrorText message={error} />
    </article>
  );
}
