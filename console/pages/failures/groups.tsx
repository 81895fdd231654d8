import { useState } from "preact/hooks";
import { query } from "../../api/client.js";
import type { Group, Time } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Ago, Empty, Load } from "../../parts/bits.js";
import { countOf, countText, messageText, toMs } from "../../parts/format.js";
import { Needs } from "../../parts/needs.js";
import { Bars } from "../../parts/sparkline.js";
import { Text } from "../../parts/text.js";
import { linkTo } from "../../route.js";
import { apiFilters, type Filters } from "./filters.js";

const EVERY_MS = 10_000;
/** Polling interval while the agent is still counting its dead letters. */
const COUNTING_EVERY_MS = 1_000;
/** An older count is marked as such. */
const OLD_MS = 15_000;
/** More rows would only slow the page down. */
const ROWS = 50;

interface GroupPage {
  readonly groups: readonly Group[];
  readonly total: number;
  readonly others: number;
  readonly isComplete: boolean;
  readonly looked: number;
  readonly at: Time;
}

/** One line per cause, which groups similar failures. */
export function Groups({ filters }: { filters: Filters }) {
  const [isCounting, setCounting] = useState(false);
  const path = `/dead-letters/groups${query(apiFilters(filters))}`;
  const grouped = useLoad<GroupPage>(path, isCounting ? COUNTING_EVERY_MS : EVERY_MS);
  const isPartial = grouped.data?.isComplete === false;
  if (isPartial !== isCounting) setCounting(isPartial);
  return (
    <Load of={grouped} part="Causes">
      {(page) => (
        <>
          <CountNote page={page} />
          {(page.isComplete || page.groups.length > 0) && (
            <GroupTable key={path} filters={filters} groups={page.groups} />
          )}
          <Unlisted page={page} />
        </>
      )}
    </Load>
  );
}

function CountNote({ page: { isComplete, looked, at } }: { page: GroupPage }) {
  if (!isComplete)
    return (
      <p class="note" role="status">
        Still counting: looked through {countOf(looked, "dead letter")} so far.
      </p>
    );
  if (Date.now() - toMs(at) < OLD_MS) return null;
  return (
    <p class="dim">
      Counted <Ago at={at} />.
    </p>
  );
}

/** Says how many causes are not listed: a sender can cause arbitrarily many. */
function Unlisted({ page: { groups, total, others } }: { page: GroupPage }) {
  const causes = total - groups.length;
  if (causes <= 0 && others === 0) return null;
  return (
    <p class="note">
      {causes > 0 && `Not listed: ${countOf(causes, "more cause")} with fewer entries. `}
      {others > 0 &&
        `${countOf(others, "entry has another cause", "entries have other causes")}, too many to tell apart. `}
      Filter, or look at the entries, to see them.
    </p>
  );
}

function GroupTable({ groups, filters }: { groups: readonly Group[]; filters: Filters }) {
  const [rows, setRows] = useState(ROWS);
  const isFiltered = Object.values(apiFilters(filters)).some((value) => value !== "");
  if (groups.length === 0)
    return (
      <Empty>
        {isFiltered
          ? "No dead letter matches these filters."
          : "No dead letters. Everything that was accepted was delivered or is queued."}
      </Empty>
    );
  const left = groups.length - rows;
  return (
    <>
      <GroupRows groups={groups.slice(0, rows)} filters={filters} />
      {left > 0 && (
        <p>
          <button type="button" onClick={() => setRows(rows + ROWS)}>
            Show {countText(Math.min(left, ROWS))} more
          </button>{" "}
          <span class="dim">
            of {countText(left)} smaller {left === 1 ? "cause" : "causes"}
          </span>
        </p>
      )}
    </>
  );
}

function GroupRows({ groups, filters }: { groups: readonly Group[]; filters: Filters }) {
  return (
    <table>
      <thead>
        <tr>
          <th>Cause</th>
          <th>Exporter</th>
          <th>Reason</th>
          <th class="number">Entries</th>
          <th class="number">Records</th>
          <th>Trend</th>
          <th>First</th>
          <th>Last</th>
          <th />
        </tr>
      </thead>
      <tbody>
        {groups.map((group) => (
          <GroupRow key={`${group.signature} ${group.exporter} ${group.reason}`} group={group} filters={filters} />
        ))}
      </tbody>
    </table>
  );
}

function GroupRow({ group, filters }: { group: Group; filters: Filters }) {
  const { signature, exporter, reason, entries, items, firstAt, lastAt, trend } = group;
  const error = typeof group.error === "string" ? { class: group.error, message: "" } : group.error;
  const narrowed = { ...filters, signature, exporter, ...(reason !== undefined && { reason }) };
  return (
    <tr>
      <td class="wide">
        <a href={linkTo("failures", [], narrowed)}>
          <Text value={error.class} inline max={80} />
        </a>
        {error.message !== "" && error.message !== error.class && (
          <div class="dim">
            <Text value={messageText(error)} inline max={160} />
          </div>
        )}
      </td>
      <td data-label="Exporter">
        <Text value={exporter} inline />
      </td>
      <td data-label="Reason">{reason?.replaceAll("_", " ") ?? ""}</td>
      <td data-label="Entries" class="number">
        {countText(entries)}
      </td>
      <td data-label="Records" class="number">
        {countText(items)}
      </td>
      <td data-label="Trend">{trend && <Bars values={trend} label={`how often: ${trend.join(", ")}`} />}</td>
      <td data-label="First">
        <Ago at={firstAt} />
      </td>
      <td data-label="Last">
        <Ago at={lastAt} />
      </td>
      <td class="actions">
        <Needs right="replay">
          <a class="button" href={linkTo("replay", ["new"], { signature, exporter, reason })}>
            Replay…
          </a>
        </Needs>
      </td>
    </tr>
  );
}
