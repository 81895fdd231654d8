import type { DryRun, ReplaySample, SkippedExample } from "../../api/shapes.js";
import { Badge } from "../../parts/bits.js";
import { DiffView } from "../../parts/diff-view.js";
import { countText } from "../../parts/format.js";
import { Text } from "../../parts/text.js";
import { linkTo } from "../../route.js";

/** Explains why an entry would be skipped; an unknown reason is shown as it is. */
export const SKIPS: Readonly<Record<string, string>> = {
  skip_approval: "needs approval: the config requires it, or it was partly accepted before",
  skip_pipeline: "its pipeline is not in the config",
  skip_schema: "the pipeline cannot update its schema",
  skip_expired: "is too old to be replayed",
  skip_downstream: "its backend is down",
  skip_max_replays: "was replayed too often",
  skip_not_found: "is no longer there",
  skip_transform: "a statement fails on it",
  skip_destination: "that exporter does not accept its signal, or it has not passed the processors of its pipeline",
  skip_source: "the source of its message cannot be reached, or the message has not failed there",
  skip_moving: "is being moved to another exporter",
};

/**
 * The result of a dry run: how many entries would be replayed, which are skipped and why, and how the first ones would
 * change.
 */
export function DryRunView({ result }: { result: DryRun }) {
  const skipped = Object.entries(result.skipped).filter(([, count]) => count > 0);
  return (
    <section class="card" aria-label="Dry run">
      <h2>Dry run</h2>
      <ul class="totals">
        <li>
          <strong>{countText(result.total)}</strong>chosen
        </li>
        <li>
          <strong>{countText(result.wouldReplay)}</strong>would be replayed
        </li>
        <li>
          <strong>{countText(result.total - result.wouldReplay)}</strong>would be left
        </li>
      </ul>
      {skipped.length > 0 && (
        <ul>
          {skipped.map(([reason, count]) => (
            <li key={reason}>
              {countText(count)}: {SKIPS[reason] ?? reason}
              <Examples examples={result.examples?.filter((each) => each.reason === reason) ?? []} />
            </li>
          ))}
        </ul>
      )}
      <Samples samples={result.samples ?? []} />
    </section>
  );
}

/** How the first entries would change. If nothing changes, one sentence says so for all of them. */
function Samples({ samples }: { samples: readonly ReplaySample[] }) {
  if (samples.length === 0) return null;
  if (samples.every(({ changed, note }) => !changed && note === undefined))
    return <p class="dim">Their records would be sent as they are stored.</p>;
  return (
    <>
      {samples.map((sample) => (
        <SampleView key={sample.id} sample={sample} />
      ))}
    </>
  );
}

const MAX_EXAMPLES = 3;

/** The first skipped entries, and their problems. */
function Examples({ examples }: { examples: readonly SkippedExample[] }) {
  return (
    <ul class="plain dim">
      {examples.slice(0, MAX_EXAMPLES).map(({ id, message }) => (
        <li key={id}>
          <a class="mono" href={linkTo("failures", [id])}>
            {id}
          </a>
          {message !== undefined && (
            <>
              : <Text value={message} max={300} />
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function SampleView({ sample }: { sample: ReplaySample }) {
  const { id, before, after, changed, masked, note } = sample;
  return (
    <div class="sample">
      <h3>
        <a class="mono" href={linkTo("failures", [id])}>
          {id}
        </a>{" "}
        <span class="dim">as stored, and as it would be sent</span> {masked && <Badge tone="info">masked</Badge>}
      </h3>
      {note === undefined ? (
        <DiffView before={before} after={after} />
      ) : (
        <p class="note">
          <Text value={note} max={300} />
        </p>
      )}
      {changed && masked && <p class="dim">Masked values may differ too.</p>}
    </div>
  );
}
