import { useAbilities } from "../../api/abilities.js";
import { query } from "../../api/client.js";
import type { Group } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Ago, Empty, Load } from "../../parts/bits.js";
import { countText, messageText } from "../../parts/format.js";
import { Bars } from "../../parts/sparkline.js";
import { Text } from "../../parts/text.js";
import { linkTo } from "../../route.js";
import { apiFilters, type Filters } from "./filters.js";

const EVERY_MS = 10_000;
/** Groups are counted ahead, by these; with other filters the agent looks through the dead letters. */
const GROUP_FILTERS = ["exporter", "reason", "category", "signature"];

type GroupPage = { readonly groups: readonly Group[]; readonly isComplete?: boolean };

interface Stats {
  readonly entries: number;
  readonly signatures: readonly (Omit<Group, "error"> & { readonly class: string; readonly message: string })[];
}

/** One line a cause: failures that are alike. */
export function Groups({ filters }: { filters: Filters }) {
  const abilities = useAbilities();
  const wanted = apiFilters(filters);
  const isCounted = Object.keys(wanted).every((name) => GROUP_FILTERS.includes(name));
  const hasGroups = abilities && isCounted && abilities.hasRoute("GET /dead-letters/groups");
  const asked = query(wanted);
  const grouped = useLoad<GroupPage>(hasGroups === true ? `/dead-letters/groups${asked}` : undefined, EVERY_MS);
  const counted = useLoad<Stats>(hasGroups === false ? `/dead-letters/stats${asked}` : undefined, EVERY_MS);
  if (hasGroups === false) {
    return (
      <Load of={counted} part="Causes">
        {({ signatures }) => (
          <GroupTable
            filters={filters}
            groups={signatures.map(({ class: name, message, ...rest }) => ({
              ...rest,
              error: { class: name, message },
            }))}
          />
        )}
      </Load>
    );
  }
  return (
    <Load of={grouped} part="Causes">
      {({ groups, isComplete = true }) => (
        <>
          {!isComplete && <p class="note">Still counting: there may be more causes than these.</p>}
          <GroupTable filters={filters} groups={groups} />
        </>
      )}
    </Load>
  );
}

function GroupTable({ groups, filters }: { groups: readonly Group[]; filters: Filters }) {
  if (groups.length === 0)
    return <Empty>No dead letters. Everything that was accepted was delivered or is queued.</Empty>;
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
        <a class="button" href={linkTo("replay", ["new"], { signature, exporter, reason })}>
          Replay…
        </a>
      </td>
    </tr>
  );
}
