import { useState } from "preact/hooks";
import type { Group, GroupPage } from "../../api/shapes.js";
import type { Loaded } from "../../api/use-load.js";
import { Ago, Empty, Load } from "../../parts/bits.js";
import { countOf, countText, messageText, toMs } from "../../parts/format.js";
import { Needs } from "../../parts/needs.js";
import { Bars } from "../../parts/sparkline.js";
import { Text } from "../../parts/text.js";
import { linkTo } from "../../route.js";
import { DeleteDialog } from "./delete-dialog.js";
import { apiFilters, type Filters, replayLink } from "./filters.js";

/** An older count is marked as such. */
const OLD_MS = 15_000;
/** More rows would only slow the page down. */
const ROWS = 50;

interface GroupsProps {
  readonly filters: Filters;
  readonly counted: Loaded<GroupPage>;
  readonly onChanged: () => void;
}

/** One line per cause, which groups similar failures. */
export function Groups({ filters, counted, onChanged }: GroupsProps) {
  const [deleting, setDeleting] = useState<Group>();
  return (
    <Load of={counted} part="Causes">
      {(page) => (
        <>
          <CountNote page={page} />
          {(page.isComplete || page.groups.length > 0) && (
            <GroupTable
              key={JSON.stringify(filters)}
              filters={filters}
              groups={page.groups}
              isDeleted={filters["deleted"] !== undefined}
              onDelete={setDeleting}
            />
          )}
          <Unlisted page={page} />
          {deleting !== undefined && (
            <DeleteDialog
              selection={{ query: { ...apiFilters(filters), ...groupFilters(deleting) } }}
              onDone={onChanged}
              onClose={() => setDeleting(undefined)}
            />
          )}
        </>
      )}
    </Load>
  );
}

function groupFilters({ signature, exporter, reason }: Group) {
  return { signature, exporter, ...(reason !== undefined && { reason }) };
}

function CountNote({ page: { isComplete, at } }: { page: GroupPage }) {
  if (!isComplete || Date.now() - toMs(at) < OLD_MS) return null;
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

interface TableProps {
  readonly groups: readonly Group[];
  readonly filters: Filters;
  /** Deleted dead letters can only be restored. */
  readonly isDeleted: boolean;
  readonly onDelete: (group: Group) => void;
}

function GroupTable({ groups, filters, isDeleted, onDelete }: TableProps) {
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
      <GroupRows groups={groups.slice(0, rows)} {...{ filters, isDeleted, onDelete }} />
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

function GroupRows({ groups, ...how }: TableProps) {
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
          <th>
            <span class="hidden-label">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {groups.map((group) => (
          <GroupRow key={`${group.signature} ${group.exporter} ${group.reason}`} group={group} {...how} />
        ))}
      </tbody>
    </table>
  );
}

function GroupRow({ group, filters, isDeleted, onDelete }: Omit<TableProps, "groups"> & { group: Group }) {
  const { exporter, reason, entries, items, firstAt, lastAt, trend } = group;
  const error = typeof group.error === "string" ? { class: group.error, message: "" } : group.error;
  const narrowed = { ...filters, ...groupFilters(group) };
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
        {!isDeleted && (
          <>
            <Needs right="replay">
              <a class="button" href={replayLink(narrowed)}>
                Replay…
              </a>
            </Needs>
            <Needs right="purge">
              <button type="button" onClick={() => onDelete(group)}>
                Delete…
              </button>
            </Needs>
          </>
        )}
      </td>
    </tr>
  );
}
