import {
  type Admin,
  AdminError,
  type DeadLetterLanguage,
  type DeadLetterQuery,
  type Entry,
  type OrphanedQueues,
  type ReplayOptions,
  type RevealOptions,
  revisionOf,
} from "#contract/operations";
import type { Rehydrations } from "#contract/rehydration";
import type { Batch } from "#otlp";
import { batchToJson } from "#otlp/json";
import { editDeadLetter } from "../dead-letters/change/edit.js";
import type { ReplayServices } from "../dead-letters/change/replay-chunk.js";
import { plannedOptions } from "../dead-letters/change/replay-options.js";
import { type Controls, controlOf, queriedControls } from "../dead-letters/dead-letters.js";
import { deleteSelected, discardDeadLetters, restoreSelected } from "../dead-letters/deletion.js";
import { replayDeadLetters } from "../dead-letters/replay.js";
import { checkQuery, checkSelection } from "../dead-letters/search/check-query.js";
import { DeadLetterGrouping } from "../dead-letters/search/dead-letter-groups.js";
import { countDeadLetters } from "../dead-letters/search/dead-letter-stats.js";
import { FailureIndexes } from "../dead-letters/search/failure-indexes.js";
import { listPage } from "../dead-letters/search/list-page.js";
import { findEntry, selectDeadLetters } from "../dead-letters/selection.js";
import { exportLines, importLines, transferLines } from "../dead-letters/transfer/transfer.js";
import { shown, shownEntry } from "../entry/shown-entries.js";
import { auditedAdmin } from "../records/audited-admin.js";
import type { OperatorRecords } from "../records/operator-records.js";
import { isStoreError } from "../store/store.js";

const MAX_BY_LENGTH = 200;
const DEFAULT_REPLAYS = 100;

export interface AdminServices extends ReplayServices {
  readonly records: OperatorRecords;
  readonly orphans?: OrphanedQueues | undefined;
  readonly rehydrations?: Rehydrations | undefined;
  readonly language: DeadLetterLanguage;
  /** Masks a batch for display; see `Host`. Without it, payloads are shown only on reveal. */
  readonly mask?: ((batch: Batch) => Promise<Batch>) | undefined;
}

/** Creates the operators' interface to all exporters. Exporters may still be added to the map after the call. */
export function createAdmin(controls: Controls, services: AdminServices): Admin {
  const view = (options: RevealOptions = {}) =>
    options.reveal === true ? undefined : (batch: Batch) => masked(batch, services.mask);
  const { audit, tracker, jobs, originals, moves } = services.records;
  services.records.watchEntries(async (id) => (await findEntry(controls, id)) !== undefined);
  moves.setControls(controls);
  const maskSample = view();
  const replayServices = { ...services, tracker, originals, moves, maskSample };
  const { clock, language } = services;
  const check = (query: DeadLetterQuery) => checkQuery(query, language);
  const indexes = new FailureIndexes();
  const grouping = new DeadLetterGrouping(controls, indexes, clock);
  const admin: Admin = {
    actingAs: (operator) => auditedAdmin(admin, services.records, check, operator),
    noteReveal: async () => {},
    audit: (query) => withAdminErrors(async () => shown(await audit.list(query))),
    orphans: services.orphans,
    rehydrations: services.rehydrations,
    exporters: () => [...controls.values()].map((control) => shown(control.status())),
    pause: (exporter) => controlOf(controls, exporter).pause(),
    resume: (exporter) => controlOf(controls, exporter).resume(),
    retryNow: (exporter) => controlOf(controls, exporter).retryNow(),
    forceBreaker: (exporter, state) => controlOf(controls, exporter).forceBreaker(state),
    setReplayRate(exporter, rate) {
      const control = controlOf(controls, exporter);
      checkRate(rate);
      control.replayRate = rate;
    },
    async listDeadLetters(query) {
      const checked = check(query);
      return withAdminErrors(async () => {
        const page = await listPage(controls, checked, { indexes, clock });
        return { ...page, entries: page.entries.map(shownEntry) };
      });
    },
    deadLetter: (id) =>
      withAdminErrors(async () => {
        const found = await findEntry(controls, id);
        const delivered = found === undefined ? await tracker.deliveredEntry(id) : undefined;
        if (found === undefined) return delivered && shownEntry(delivered);
        return shownEntry(found.control.isInFlight?.(id) ? inFlight(found.entry) : found.entry);
      }),
    payload: (id, options) => withAdminErrors(() => payloadOf(controls, originals, id, view(options), options)),
    async deadLetterGroups(query) {
      const checked = check(query);
      return withAdminErrors(async () => shown(await grouping.list(checked)));
    },
    async deadLetterStats(query) {
      const checked = check(query);
      return withAdminErrors(async () => shown(await countDeadLetters(controls, checked, indexes)));
    },
    editDeadLetter: (id, edit) =>
      withAdminErrors(async () => {
        checkBy(edit.by);
        await moves.settleInterrupted();
        return shownEntry(await editDeadLetter(controls, id, edit, { ...services, originals }));
      }),
    async replay(selection, options) {
      checkReplay(options);
      checkPipeline(controls, options);
      const planned = plannedOptions(controls, selection, options, language);
      return withAdminErrors(async () =>
        replayDeadLetters(
          await selectDeadLetters(controls, checkSelection(selection, language)),
          planned,
          replayServices,
        ),
      );
    },
    startReplay: async (selection, options) => shown(await jobs.start(admin, selection, options)),
    replays: (limit = DEFAULT_REPLAYS) => withAdminErrors(async () => shown(await tracker.list(limit))),
    replayJob: (id) => withAdminErrors(async () => shown(await tracker.get(id))),
    controlReplay: (id, change) => jobs[change](id),
    watchReplay: (id, listener) => tracker.watch(id, listener),
    deleteDeadLetters: (selection, options) =>
      withAdminErrors(async () => {
        await moves.settleInterrupted();
        return deleteSelected(controls, checkSelection(selection, language), options?.dryRun ?? false, {
          ...services,
          originals,
        });
      }),
    restoreDeadLetters: (selection) =>
      withAdminErrors(async () => restoreSelected(controls, checkSelection(selection, language), services)),
    exportDeadLetters(query, options) {
      const checked = check(query);
      queriedControls(controls, query);
      const onUnreadable = (id: string) =>
        services.logger.error({ id }, "a dead letter could not be exported: its payload cannot be read");
      const mask = view(options);
      const show = mask && shownEntry;
      return linesWithAdminErrors(exportLines(controls, checked, { mask, show, onUnreadable }));
    },
    transfers: {
      async *lines(selection) {
        await moves.settleInterrupted();
        const { candidates } = await selectDeadLetters(controls, checkSelection(selection, language));
        yield* transferLines(candidates);
      },
      discard: (ids) => withAdminErrors(() => discardDeadLetters(controls, ids)),
    },
    importDeadLetters: (lines) => withAdminErrors(async () => shown(await importLines(controls, lines))),
  };
  return admin;
}

function inFlight(entry: Entry): Entry {
  return entry.state === "pending" ? { ...entry, state: "in_flight" } : entry;
}

function checkBy(by: unknown): void {
  if (typeof by !== "string" || by.trim() === "" || by.length > MAX_BY_LENGTH)
    throw new AdminError("bad_request", "by must name the operator");
}

function checkReplay({ by, rate, generation }: ReplayOptions): void {
  checkBy(by);
  if (generation !== undefined && (generation.trim() === "" || generation.length > MAX_BY_LENGTH))
    throw new AdminError("bad_request", "generation must be a name");
  if (rate !== undefined && rate !== 0) checkRate(rate);
}

/** Without a config the pipelines are not known. */
function checkPipeline(controls: Controls, { pipeline }: ReplayOptions): void {
  if (pipeline === undefined) return;
  const known = [...controls.values()].flatMap(({ hasPipeline }) => hasPipeline ?? []);
  if (known.length === 0)
    throw new AdminError("bad_request", "a replay without its own pipeline needs a running agent: start it first");
  if (pipeline === false || known.some((hasPipeline) => hasPipeline(pipeline))) return;
  throw new AdminError("bad_request", `there is no pipeline ${JSON.stringify(pipeline)} in the config`);
}

function checkRate(rate: number): void {
  if (!(rate > 0) || !Number.isFinite(rate)) {
    throw new AdminError("bad_request", "the rate must be a number of entries per second, more than 0");
  }
}

async function payloadOf(
  controls: Controls,
  originals: OperatorRecords["originals"],
  id: string,
  mask: ((batch: Batch) => Promise<Batch>) | undefined,
  { revision }: RevealOptions = {},
): Promise<string | undefined> {
  const found = await findEntry(controls, id);
  const isPresent = revision === undefined || (found !== undefined && revision === revisionOf(found.entry));
  const batch = isPresent
    ? found && (await found.control.store.payload(found.ref))
    : await originals.payload(id, revision);
  if (batch === undefined) return undefined;
  return batchToJson(mask === undefined ? batch : await mask(batch));
}

/** Rejects if the batch cannot be masked. */
async function masked(batch: Batch, mask: AdminServices["mask"]): Promise<Batch> {
  try {
    if (mask !== undefined) return await mask(batch);
  } catch (error) {
    throw new AdminError("unavailable", "the payload cannot be masked; reveal it to see it unmasked", { cause: error });
  }
  throw new AdminError("unavailable", "payloads cannot be masked here; reveal them to see them unmasked");
}

/** Turns errors of the store (closed, or unreadable) into `AdminError`s with code `unavailable`. */
async function withAdminErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asAdminError(error);
  }
}

async function* linesWithAdminErrors(lines: AsyncIterable<string>): AsyncGenerator<string> {
  try {
    yield* lines;
  } catch (error) {
    throw asAdminError(error);
  }
}

/** Turns a `StoreError` into an `AdminError`. Other errors stay as they are. */
export function asAdminError(error: unknown, message?: string): unknown {
  return isStoreError(error) ? new AdminError("unavailable", message ?? error.message, { cause: error }) : error;
}
