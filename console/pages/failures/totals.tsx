import type { Exporter, GroupPage } from "../../api/shapes.js";
import type { Loaded } from "../../api/use-load.js";
import { countOf, countText } from "../../parts/format.js";
import { WorkProgress } from "../../parts/work-progress.js";
import type { Filters } from "./filters.js";

interface TotalsProps {
  readonly counted: Loaded<GroupPage>;
  readonly exporters: readonly Exporter[];
  readonly filters: Filters;
}

/** How many dead letters match, and the progress while the agent is still counting them. */
export function Totals({ counted, exporters, filters }: TotalsProps) {
  const page = counted.data;
  if (page === undefined) return null;
  const { groups, total, others, isComplete, looked } = page;
  const entries = groups.reduce((sum, group) => sum + group.entries, others);
  const records = groups.reduce((sum, group) => sum + group.items, 0);
  const number = (count: number, noun: string, nouns: string) => (
    <li>
      <strong>{countText(count)}</strong>
      {count === 1 ? noun : nouns}
    </li>
  );
  return (
    <>
      {!isComplete && (
        <div class="note">
          <p>Still counting. The numbers below are what has been found so far.</p>
          <WorkProgress label="Counting" done={looked} total={presentAt(exporters, filters["exporter"])} />
        </div>
      )}
      {(entries > 0 || !isComplete) && (
        <ul class="totals" aria-label="Totals">
          {number(entries, "dead letter", "dead letters")}
          {number(records, "record", "records")}
          {number(Math.max(total, groups.length), "cause", "causes")}
        </ul>
      )}
    </>
  );
}

/** Number of dead letters that a count looks through. */
function presentAt(exporters: readonly Exporter[], exporter: string | undefined): number {
  const queried = exporters.filter(({ id }) => exporter === undefined || exporter === "" || id === exporter);
  return queried.reduce((sum, { deadLetters }) => sum + deadLetters.entries, 0);
}

/** `3 dead letters`. */
export function deadLettersText(count: number): string {
  return countOf(count, "dead letter");
}
