import type { DryRun } from "../../api/shapes.js";
import { DiffView } from "../../parts/diff-view.js";
import { countText } from "../../parts/format.js";
import { linkTo } from "../../route.js";

/** Why an entry would be left, in words; a reason that is not here is shown as it is. */
export const SKIPS: Readonly<Record<string, string>> = {
  skip_approval: "needs approval: the config asks for it, or it was partly taken before",
  skip_pipeline: "its pipeline is not in the config",
  skip_schema: "its schema is not one that the pipeline can bring up to date",
  skip_expired: "is older than may be replayed",
  skip_downstream: "its backend is down",
  skip_max_replays: "was replayed too often",
  skip_not_found: "is no longer there",
};

/** What a replay would do: how many, which are left and why, and how the first of them would change on the way. */
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
            </li>
          ))}
        </ul>
      )}
      {result.samples?.map(({ id, before, after }) => (
        <div key={id} class="sample">
          <h3>
            <a class="mono" href={linkTo("failures", [id])}>
              {id}
            </a>{" "}
            <span class="dim">as it is, and as it would be sent</span>
          </h3>
          <DiffView before={before} after={after} />
        </div>
      ))}
    </section>
  );
}
