import { OPERATIONS, type OperationName } from "#contract/api";
import type {
  Admin,
  AuditedAction,
  AuditRecord,
  DeadLetterQuery,
  Operator,
  OrphanedQueues,
  QueueAdoption,
  Selection,
} from "#contract/operations";
import type { Rehydration, Rehydrations } from "#contract/rehydration";
import { shown } from "../entry/shown-entries.js";
import type { Audit } from "./audit.js";
import type { ReplayJobs } from "./replay-jobs.js";

/** Where actions are recorded, and what runs replays in the background. */
interface AuditedRecords {
  readonly audit: Pick<Audit, "add" | "addAfterwards" | "addSearch">;
  readonly jobs: Pick<ReplayJobs, "start">;
}

type AuditedObject = Pick<AuditRecord, "target" | "filter" | "count">;

/** The methods that take an id, and what is set; and those that take a query. */
const CHANGES = ["pause", "resume", "retryNow", "forceBreaker", "setReplayRate", "controlReplay"] as const;
const SEARCHES = ["listDeadLetters", "deadLetterStats", "deadLetterGroups"] as const;

/** The number of ids of a selection that are recorded. The total number is always recorded. */
const MAX_IDS = 20;

/**
 * The admin interface for one operator. An action that reveals masked data is recorded before the data is shown. A
 * change is recorded with its outcome when it is done. Invalid requests, which change nothing, are not recorded.
 */
export function auditedAdmin(
  admin: Admin,
  { audit, jobs }: AuditedRecords,
  checkQuery: (query: DeadLetterQuery) => unknown,
  operator: Operator,
): Admin {
  const note = (action: AuditedAction, subject: AuditedObject, outcome = "done") =>
    audit.addAfterwards(operator, { action, ...subject, outcome });

  /** The change of an exporter or a replay. Its target is the id, and its value is recorded under the name in the table. */
  const change =
    (name: (typeof CHANGES)[number]) =>
    (target: string, value?: unknown): void | Promise<void> => {
      const operation: { readonly audit: AuditedAction; readonly value?: string } = OPERATIONS[name];
      const { audit: action, value: key } = operation;
      const subject = { target, ...(key && { filter: { [key]: value } }) };
      const changing = admin[name](target, value as never);
      if (changing === undefined) return void note(action, subject);
      return changing.then(
        () => note(action, subject),
        async (error: { code?: unknown; message: string }) => {
          if (error.code === "unavailable") await note(action, subject, `failed: ${error.message}`);
          throw error;
        },
      );
    };

  async function changeEntries<T>(
    { audit: action }: { readonly audit: AuditedAction },
    subject: AuditedObject,
    change: () => Promise<T>,
    countOf: (result: T) => number,
  ): Promise<T> {
    try {
      const result = await change();
      await note(action, { ...subject, count: countOf(result) });
      return result;
    } catch (error) {
      const { code, message } = error as { code?: unknown; message: string };
      if (code !== "bad_request") await note(action, subject, `failed: ${message}`);
      throw error;
    }
  }

  /** Rejects invalid queries before they are recorded. If the search cannot be recorded, it is not made. */
  async function afterSearch<T>(selection: Selection, look: () => Promise<T>): Promise<T> {
    if ("query" in selection) {
      checkQuery(selection.query);
      await audit.addSearch(operator, selection.query);
    }
    return look();
  }

  const acting: Admin = {
    ...admin,
    actingAs: (other) => auditedAdmin(admin, { audit, jobs }, checkQuery, other),
    ...methods(CHANGES, change),
    ...methods(
      SEARCHES,
      (name) => (query: DeadLetterQuery) => afterSearch<unknown>({ query }, () => admin[name](query)),
    ),
    async payload(id, options) {
      const { reveal, revision } = options ?? {};
      const which = revision === undefined ? {} : { filter: { revision } };
      if (reveal) await audit.add(operator, { action: "reveal", target: id, ...which, outcome: "done" });
      return admin.payload(id, options);
    },
    noteReveal: (target, filter) => audit.add(operator, { action: "reveal", target, filter, outcome: "done" }),
    orphans: admin.orphans && auditedOrphans(admin.orphans, note),
    rehydrations: admin.rehydrations && auditedRehydrations(admin.rehydrations, note),
    noteReload: (filter, outcome) => note("reload", { filter }, outcome),
    noteRehearsal: (filter) => note("rehearse", { filter }, "done"),
    async noteAction(noted) {
      if (noted.when === "search") return afterSearch({ query: noted.query }, async () => {});
      if (noted.when === "after") return audit.addAfterwards(operator, noted.done);
      if (noted.done.action === "export") checkQuery(noted.done.filter ?? {});
      return audit.add(operator, noted.done);
    },
    async *exportDeadLetters(query, options) {
      const lines = admin.exportDeadLetters(query, options);
      if (options?.reveal) await audit.add(operator, { action: "export", filter: { ...query }, outcome: "done" });
      else await audit.addSearch(operator, query);
      yield* lines;
    },
    importDeadLetters: (lines) =>
      changeEntries(
        OPERATIONS.importDeadLetters,
        {},
        () => admin.importDeadLetters(lines),
        ({ imported }) => imported,
      ),
    editDeadLetter: (id, edit) =>
      changeEntries(
        OPERATIONS.editDeadLetter,
        { target: id, filter: { revision: edit.revision } },
        () => admin.editDeadLetter(id, { reason: operator.reason, ...edit }),
        () => 1,
      ),
    async replay(selection, options) {
      const replay = () => admin.replay(selection, options);
      const { dryRun, revealSamples, to, transform } = options;
      const { filter, ...subject } = auditedObject(selection);
      const how = { ...(to !== undefined && { to }), ...(transform && { transform }) };
      const recorded = { ...subject, filter: { ...filter, ...how } };
      if (!dryRun) return changeEntries(OPERATIONS.startReplay, recorded, replay, ({ replayed }) => replayed);
      if (!revealSamples) return afterSearch(selection, replay);
      await audit.add(operator, { action: "reveal", ...recorded, outcome: "done" });
      return replay();
    },
    startReplay: async (selection, options) =>
      shown(await jobs.start(acting, selection, { reason: operator.reason, ...options })),
    deleteDeadLetters(selection, options) {
      const remove = () => admin.deleteDeadLetters(selection, options);
      if (options?.dryRun) return afterSearch(selection, remove);
      return changeEntries(OPERATIONS.deleteDeadLetters, auditedObject(selection), remove, (deleted) => deleted);
    },
    restoreDeadLetters: (selection) =>
      changeEntries(
        OPERATIONS.restoreDeadLetters,
        auditedObject(selection),
        () => admin.restoreDeadLetters(selection),
        (restored) => restored,
      ),
  };
  return acting;
}

/** These methods, each made by its name. */
function methods<Name extends OperationName>(names: readonly Name[], make: (name: Name) => unknown): Pick<Admin, Name> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as unknown as Pick<Admin, Name>;
}

type NoteAction = (action: AuditedAction, subject: AuditedObject, outcome?: string) => Promise<void>;

/** An adoption is recorded when it has begun, and again with its outcome. */
function auditedOrphans(orphans: OrphanedQueues, note: NoteAction): OrphanedQueues {
  return {
    list: () => orphans.list(),
    adoption: (id) => orphans.adoption(id),
    async adopt(id, options) {
      const { to, pipeline } = options;
      const subject = { target: id, filter: { to, ...(pipeline !== undefined && { pipeline }) } };
      const onEnd = ({ state, moved: count, error }: QueueAdoption) => {
        const outcome = error === undefined ? state : `failed: ${error}`;
        void note("adopt", { ...subject, count }, outcome);
      };
      const adoption = await orphans.adopt(id, { ...options, onEnd });
      await note("adopt", subject, "started");
      return adoption;
    },
    async delete(id) {
      try {
        const count = await orphans.delete(id);
        await note("delete_queue", { target: id, count });
        return count;
      } catch (error) {
        await note("delete_queue", { target: id }, `failed: ${(error as Error).message}`);
        throw error;
      }
    },
  };
}

/** A rehydration is recorded when it has begun, and again with its outcome. Dry runs count as searches of the archive. */
function auditedRehydrations(rehydrations: Rehydrations, note: NoteAction): Rehydrations {
  return {
    list: (limit) => rehydrations.list(limit),
    get: (id) => rehydrations.get(id),
    async start(request, starter) {
      const { from, where, dryRun } = request;
      const subjectOf = ({ to, since, until, id }: Rehydration): AuditedObject => ({
        target: to,
        filter: { from, since, until, ...(where !== undefined && { where }), ...(dryRun && { dryRun }), id },
      });
      let setStarted = () => {};
      const isStarted = new Promise<void>((resolve) => {
        setStarted = resolve;
      });
      const onEnd = async (ended: Rehydration) => {
        await isStarted;
        const outcome = ended.error === undefined ? ended.state : `failed: ${ended.error}`;
        await note("rehydrate", { ...subjectOf(ended), count: ended.sent }, outcome);
      };
      const job = await rehydrations.start(request, { ...starter, onEnd: (ended) => void onEnd(ended) });
      await note("rehydrate", subjectOf(job), job.resumed > 0 ? "resumed" : "started");
      setStarted();
      return job;
    },
    async cancel(id) {
      await rehydrations.cancel(id);
      await note("rehydrate", { filter: { id, change: "cancel" } });
    },
  };
}

function auditedObject(selection: Selection): AuditedObject {
  if (!("ids" in selection)) return { filter: { ...selection.query } };
  const { ids } = selection;
  return ids.length === 1 ? { target: ids[0] } : { filter: { ids: ids.slice(0, MAX_IDS) }, count: ids.length };
}
