import { useEffect, useState } from "preact/hooks";
import { AUDITED_ACTIONS } from "../../../src/runtime/contract/operations/audit.js";
import { type ApiError, get, query } from "../../api/client.js";
import type { AuditRecord } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Badge, Empty, Load, Problem } from "../../parts/bits.js";
import { Choice } from "../../parts/choice.js";
import { clockText } from "../../parts/format.js";
import { ScrollText } from "../../parts/scroll-text.js";
import { Text } from "../../parts/text.js";
import { useDraft } from "../../parts/use-draft.js";
import { goTo, type Route } from "../../route.js";
import { auditSentence } from "./audit-sentence.js";

const SPANS = [
  ["60", "1 hour"],
  ["1440", "1 day"],
  ["10080", "1 week"],
] as const;

interface AuditPageOf {
  readonly records: readonly AuditRecord[];
  readonly cursor?: string;
}

/** Lists who did what, when and why. The audit cannot be changed. */
export function AuditPage({ route }: { route: Route }) {
  const { actor, action, minutes } = route.query;
  const since = minutes && new Date(Math.floor(Date.now() / 60_000 - Number(minutes)) * 60_000).toISOString();
  const asked = { actor, action, since };
  const first = useLoad<AuditPageOf>(`/audit${query(asked)}`);
  const [more, setMore] = useState<AuditPageOf[]>([]);
  const [failed, setFailed] = useState<ApiError>();
  useEffect(() => {
    setMore([]);
    setFailed(undefined);
  }, [first.data]);
  return (
    <>
      <h1>Audit</h1>
      <AuditFilters filters={route.query} />
      <Load of={first} part="The audit log">
        {(page) => {
          const records = [page, ...more].flatMap((each) => each.records);
          const cursor = (more.at(-1) ?? page).cursor;
          const loadMore = () =>
            get<AuditPageOf>(`/audit${query({ ...asked, cursor })}`).then(
              (next) => {
                setMore([...more, next]);
                setFailed(undefined);
              },
              (error: unknown) => setFailed(error as ApiError),
            );
          return (
            <>
              {records.length === 0 ? (
                <Empty>
                  {cursor === undefined
                    ? "The audit is empty."
                    : "No match among the newest records. Older ones were not searched yet."}
                </Empty>
              ) : (
                <AuditTable records={records} />
              )}
              {failed && <Problem error={failed} part="The audit log" />}
              {cursor !== undefined && (
                <p>
                  <button type="button" onClick={() => void loadMore()}>
                    Load more
                  </button>
                </p>
              )}
            </>
          );
        }}
      </Load>
    </>
  );
}

function AuditFilters({ filters }: { filters: Route["query"] }) {
  const draft = useDraft(filters);
  const show = (changed: Record<string, string>) => goTo("audit", [], { ...draft.values, ...changed });
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        show({});
      }}
    >
      <label class="field">
        <span>Who</span>
        <input
          value={draft.values["actor"] ?? ""}
          onInput={(event) => draft.type("actor", event.currentTarget.value)}
        />
      </label>
      <Choice
        label="Action"
        value={filters["action"] ?? ""}
        choices={[["", "any"], ...AUDITED_ACTIONS.map((action) => [action, action.replace("_", " ")] as const)]}
        onChange={(action) => show({ action })}
      />
      <Choice
        label="Within"
        value={filters["minutes"] ?? ""}
        choices={[["", "any time"], ...SPANS]}
        onChange={(minutes) => show({ minutes })}
      />
      <footer>
        <button type="submit" class="primary">
          Filter
        </button>
      </footer>
    </form>
  );
}

function AuditTable({ records }: { records: readonly AuditRecord[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th>When</th>
          <th>What happened</th>
          <th>Reason</th>
          <th>Outcome</th>
        </tr>
      </thead>
      <tbody>
        {records.map((record, i) => (
          <tr key={`${record.at} ${i}`}>
            <td data-label="When">
              <time>{clockText(record.at)}</time>
            </td>
            <td class="wide">
              <strong>
                <Text value={record.actor} inline max={60} />
              </strong>{" "}
              <Text value={auditSentence(record)} max={200} />
              <details class="dim">
                <summary>
                  {record.action.replaceAll("_", " ")}
                  {record.from !== undefined && (
                    <>
                      {" "}
                      from <Text value={record.from} inline max={60} />
                    </>
                  )}
                </summary>
                <ScrollText name="code">
                  <Text value={JSON.stringify(record, null, 2)} max={2000} />
                </ScrollText>
              </details>
            </td>
            <td data-label="Reason">
              <Text value={record.reason ?? ""} max={200} />
            </td>
            <td data-label="Outcome">
              <Badge tone={/^(ok|done|allowed)/.test(record.outcome) ? "good" : "warn"}>
                <Text value={record.outcome} inline max={80} />
              </Badge>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
