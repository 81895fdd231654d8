import type { Clock, Logger } from "#contract";
import {
  type Admin,
  AdminError,
  type AuditPage,
  type DeadLetterGroups,
  type DeadLetterPage,
  type DeadLetterQuery,
  type DeadLetterStats,
  type Entry,
  type ExporterStatus,
  type ImportReport,
  type Operator,
  type RevealOptions,
  type Selection,
} from "#contract/operations";
import type { Rehydration, RehydrationStarter, Rehydrations } from "#contract/rehydration";
import { auditedAdmin } from "#queue/records";
import type { EntryPlace, SentAction } from "./admin-methods.js";
import { EntryOwners } from "./entry-owners.js";
import { GroupReplays } from "./group-replays.js";
import { importInto } from "./import-lines.js";
import { mergeGroups, mergeStats } from "./merge-counts.js";
import { mergePages } from "./merge-pages.js";
import { mergedOrphans } from "./merged-orphans.js";
import type { SetByOperators } from "./set-by-operators.js";
import { partial, type WorkerGroup } from "./worker-group.js";

const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 1000;

interface MergedAdminServices {
  readonly group: WorkerGroup;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings: SetByOperators;
  readonly exporters: () => readonly ExporterStatus[];
}

/**
 * The operators' interface to all workers as to one agent. Questions are answered by the workers that are there, and the
 * answer names those that are not. Changes are refused if a worker is not there. Each action of an operator is recorded
 * once, in the audit of the first worker.
 */
export function createMergedAdmin({ group, clock, logger, settings, exporters }: MergedAdminServices): Admin {
  const owners = new EntryOwners(group, async (query) => {
    const ids: string[] = [];
    for (let cursor: string | undefined; ids.length < (query.limit ?? 0); ) {
      const page = await admin.listDeadLetters({
        ...query,
        limit: query.limit! - ids.length,
        ...(cursor && { cursor }),
      });
      ids.push(...page.entries.map(({ id }) => id));
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    return ids;
  });
  const replays = new GroupReplays(group, owners, clock);
  const orphans = mergedOrphans(group, clock);

  async function changeParts(
    name: string,
    selection: Selection,
    places: readonly EntryPlace[],
    ...args: readonly unknown[]
  ): Promise<number> {
    const parts = await owners.divideKnown(selection, places);
    const request = (worker: number) => ({ name, args: [parts.get(worker), ...args] });
    const answers = await group.change<number>(request, [...parts.keys()]);
    return answers.reduce((sum, { value }) => sum + value, 0);
  }

  const admin: Admin = {
    actingAs: (operator) =>
      auditedAdmin(admin, { audit: firstWorkersAudit(group, logger), jobs: replays }, () => {}, operator),
    exporters,
    orphans,
    rehydrations: rehydrationsOf(group, clock),
    pause: (exporter) => settings.change(exporter, { paused: true }),
    resume: (exporter) => settings.change(exporter, { paused: false }),
    async retryNow(exporter) {
      await group.requireAll();
      await group.change(() => ({ name: "retryNow", args: [exporter] }));
    },
    forceBreaker: (exporter, breaker) => settings.change(exporter, { breaker }),
    setReplayRate: (exporter, rate) => settings.setReplayRate(exporter, rate),

    async listDeadLetters(query): Promise<DeadLetterPage> {
      const { limit = DEFAULT_PAGE_SIZE, cursor: from, order = "newest", ...filters } = query;
      const { items, cursor, unavailable } = await mergePages<Entry>(group, {
        limit,
        cursor: from,
        async read(worker, max, own) {
          const asked: DeadLetterQuery = { ...filters, order, limit: max, ...(own !== undefined && { cursor: own }) };
          const page = await group.askOne<DeadLetterPage>(worker, "listDeadLetters", asked);
          return { items: page.entries, cursor: page.cursor };
        },
        isBefore: (one, other) =>
          order === "oldest" ? failedAt(one) < failedAt(other) : failedAt(one) > failedAt(other),
      });
      return { entries: items, ...(cursor !== undefined && { cursor }), ...partial({ unavailable }) };
    },
    async deadLetter(id) {
      const owner = await owners.of(id);
      return owner === undefined ? undefined : group.askOne(owner, "deadLetter", id);
    },
    async payload(id, options) {
      const owner = await owners.of(id);
      return owner === undefined ? undefined : group.askOne(owner, "payload", id, options);
    },
    async deadLetterGroups(query) {
      const { limit, ...filters } = query;
      // The largest groups of all are not always among the largest of each. An invalid limit is left to the workers.
      const isValid = limit === undefined || (Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE_SIZE);
      const answer = await group.ask<DeadLetterGroups>("deadLetterGroups", isValid ? filters : query);
      const parts = answer.answers.map(({ value }) => value);
      return { ...mergeGroups(parts, limit), ...partial(answer) };
    },
    async deadLetterStats(query) {
      const answer = await group.ask<DeadLetterStats>("deadLetterStats", query);
      return { ...mergeStats(answer.answers.map(({ value }) => value)), ...partial(answer) };
    },
    async editDeadLetter(id, edit) {
      const owner = (await owners.of(id)) ?? group.first;
      const [edited] = await group.change<Entry>(() => ({ name: "editDeadLetter", args: [id, edit] }), [owner]);
      return edited!.value;
    },
    replay: (selection, options) => replays.run(selection, options),
    startReplay: (selection, options) => replays.start(admin, selection, options),
    replays: (limit) => replays.list(limit),
    replayJob: (id) => replays.get(id),
    controlReplay: (id, change) => replays.control(id, change),
    watchReplay: (id, listener) => replays.watch(id, listener),
    async deleteDeadLetters(selection, options) {
      await group.requireAll();
      return changeParts("deleteDeadLetters", selection, ["dead_letter", "deleted"], options);
    },
    async restoreDeadLetters(selection) {
      await group.requireAll();
      const wanted = "ids" in selection ? selection : { query: { ...selection.query, deleted: true } };
      return changeParts("restoreDeadLetters", wanted, ["deleted"]);
    },
    exportDeadLetters: (query, options) => exportFrom(group, query, options),
    async importDeadLetters(lines): Promise<ImportReport> {
      await group.requireAll();
      return importInto(group, owners, lines);
    },
    noteReveal: async () => {},
    async audit(query): Promise<AuditPage> {
      const { limit = DEFAULT_PAGE_SIZE, cursor: from, ...filters } = query;
      const { items, cursor, unavailable } = await mergePages<AuditPage["records"][number]>(group, {
        limit,
        cursor: from,
        async read(worker, max, own) {
          const page = await group.askOne<AuditPage>(worker, "audit", { ...filters, limit: max, cursor: own });
          return { items: page.records, cursor: page.cursor };
        },
        isBefore: (one, other) => one.at > other.at,
      });
      return { records: items, ...(cursor !== undefined && { cursor }), ...partial({ unavailable }) };
    },
  };
  return admin;
}

/** One worker after the other. An export that lacks a worker's share would look complete, so it fails instead. */
async function* exportFrom(
  group: WorkerGroup,
  query: DeadLetterQuery,
  options: RevealOptions | undefined,
): AsyncGenerator<string> {
  await group.requireAll();
  for (const worker of group.numbers) {
    try {
      for await (const lines of group.stream<readonly string[]>(worker, "exportDeadLetters", query, options))
        yield* lines;
    } catch (error) {
      if ((error as Error).name === "AdminError") throw error;
      throw new AdminError("unavailable", `the export is not complete: ${(error as Error).message}`, { cause: error });
    }
  }
}

/** Records actions in the first worker, whose directory is also that of an agent without workers. */
function firstWorkersAudit(group: WorkerGroup, logger: Logger): Parameters<typeof auditedAdmin>[1]["audit"] {
  const note = async (operator: Operator, noted: SentAction): Promise<void> => {
    await group.askOne(group.first, "noteAction", operator, noted);
  };
  return {
    add: (operator, done) => note(operator, { when: "before", done }),
    addSearch: (operator, query) => note(operator, { when: "search", query }),
    async addAfterwards(operator, done) {
      try {
        await note(operator, { when: "after", done });
      } catch (error) {
        logger.error({ err: error, ...operator, ...done }, "the audit cannot be written");
      }
    },
  };
}

function failedAt({ failure }: Entry): number {
  return failure?.at ?? 0;
}

const CHECK_MS = 500;

/** Rehydrations of an agent with several workers. The first worker, which has a queue of each exporter, runs them all. */
function rehydrationsOf(group: WorkerGroup, clock: Clock): Rehydrations {
  const get = (id: string) => group.askOne<Rehydration | undefined>(group.first, "rehydration", id);
  const tellEnd = async (id: string, onEnd: NonNullable<RehydrationStarter["onEnd"]>): Promise<void> => {
    const job = await get(id).catch(() => undefined);
    if (job === undefined || job.state === "running") clock.after(CHECK_MS, () => void tellEnd(id, onEnd));
    else if (job.state !== "interrupted") onEnd(job);
  };
  return {
    async start(request, { onEnd, ...starter }) {
      const job = await group.askOne<Rehydration>(group.first, "startRehydration", request, starter);
      if (onEnd !== undefined) void tellEnd(job.id, onEnd);
      return job;
    },
    list: (limit) => group.askOne(group.first, "rehydrations", limit),
    get,
    cancel: (id) => group.askOne(group.first, "cancelRehydration", id),
  };
}
