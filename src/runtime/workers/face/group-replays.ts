import { randomBytes } from "node:crypto";
import type { Clock } from "#contract";
import {
  type Admin,
  AdminError,
  type ReplayJob,
  type ReplayOptions,
  type ReplayReport,
  type Selection,
} from "#contract/operations";
import { waitAtMost } from "#contract/time";
import type { EntryOwners, SelectionParts } from "./entry-owners.js";
import { gatherForReplay, onlyWorkerWith } from "./gather-for-replay.js";
import { mergeReplay, mergeReplays, mergeReports } from "./merge-replays.js";
import { partial, type WorkerGroup } from "./worker-group.js";

/** If a replay ends within this time, the answer has its report. */
const ANSWER_AFTER_MS = 1000;
const DEFAULT_REPLAYS = 100;

/**
 * Replays over all workers. A replay is one in each worker that has a part of it, all with the same id. Each worker
 * keeps its part, so a replay is found again by its id after the parent was restarted.
 */
export class GroupReplays {
  private readonly group: WorkerGroup;
  private readonly owners: EntryOwners;
  private readonly clock: Clock;

  constructor(group: WorkerGroup, owners: EntryOwners, clock: Clock) {
    this.group = group;
    this.owners = owners;
    this.clock = clock;
  }

  /** Resolves when the replay is done, or after a short time. Rejects if the request is invalid. */
  async start(admin: Pick<Admin, "replay">, selection: Selection, options: ReplayOptions): Promise<ReplayJob> {
    const id = randomBytes(6).toString("hex");
    let hasBegun = () => {};
    const begun = new Promise<void>((resolve) => {
      hasBegun = resolve;
    });
    const work = admin.replay(selection, { ...options, id, onProgress: hasBegun });
    work.catch(() => {});
    if (options.revealSamples === true) {
      const { samples } = await work;
      return withSamples(await this.require(id, work), samples);
    }
    await Promise.race([begun, work]);
    await waitAtMost(ANSWER_AFTER_MS, work, this.clock);
    return this.require(id, work);
  }

  /**
   * Resolves when all workers have put their entries back. Rejects if a worker refuses: for the same reason as all
   * others, because they have the same config.
   */
  async run(selection: Selection, options: ReplayOptions): Promise<ReplayReport> {
    const { onProgress, abort, whenResumed: _, ...given } = options;
    const { id = randomBytes(6).toString("hex"), rate } = given;
    if (!given.dryRun) await this.group.requireAll();
    const { parts, only } = await this.partsOf(await this.owners.divide(selection), options);
    const workers = [...parts.keys()];
    const own = { ...given, id, ...(rate !== undefined && { rate: rate / workers.length }) };
    const { to: _to, ...elsewhere } = own;
    const request = (worker: number) => {
      const isElsewhere = only !== undefined && only !== worker;
      return { name: "startReplay", args: [parts.get(worker), isElsewhere ? elsewhere : own] };
    };
    const started = await this.group.change<ReplayJob>(request, workers);
    onProgress?.(0, 0);
    const cancel = () => void this.control(id, "cancel").catch(() => {});
    abort?.addEventListener("abort", cancel);
    try {
      const asked = () => ({ name: "replayEnded", args: [id] });
      const begun = started.map(({ worker }) => worker);
      const ended = await this.group.change<ReplayJob | undefined>(asked, begun);
      const failed = ended.find(({ value }) => value === undefined || value.state === "failed");
      if (failed !== undefined)
        throw new AdminError("unavailable", failed.value?.error ?? `worker ${failed.worker} could not replay`);
      // Unmasked samples are only in the first answer, because they are not kept.
      const samples = started.flatMap(({ value }) => value.report?.samples ?? []);
      const report = mergeReports(
        ended.flatMap(({ value }) => value?.report ?? []),
        given.samples,
      );
      return samples.length > 0 ? { ...report, samples: samples.slice(0, given.samples) } : report;
    } finally {
      abort?.removeEventListener("abort", cancel);
    }
  }

  /**
   * If only one worker (`only`) has the exporter that the dead letters go to, they are brought there first. A dry run
   * moves nothing: the other workers check their share except for its destination.
   */
  private async partsOf(
    parts: SelectionParts,
    { to, dryRun, pipeline, abort }: ReplayOptions,
  ): Promise<{ readonly parts: SelectionParts; readonly only?: number | undefined }> {
    const only = to === undefined || pipeline === false ? undefined : await onlyWorkerWith(this.group, to);
    if (only === undefined || dryRun === true) return { parts, only };
    return { parts: await gatherForReplay(this.group, parts, only, abort), only };
  }

  async list(limit = DEFAULT_REPLAYS): Promise<readonly ReplayJob[]> {
    const { answers } = await this.group.ask<readonly ReplayJob[]>("replays", limit);
    return mergeReplays(
      answers.map(({ value }) => value),
      limit,
    );
  }

  async get(id: string): Promise<ReplayJob | undefined> {
    const answer = await this.group.ask<ReplayJob | undefined>("replayJob", id);
    const [first, ...others] = answer.answers.flatMap(({ value }) => value ?? []);
    return first && { ...mergeReplay([first, ...others]), ...partial(answer) };
  }

  /** Workers that have done their part, or have none, do not count. Rejects if the replay runs in no worker. */
  async control(id: string, change: "pause" | "resume" | "cancel"): Promise<void> {
    await this.group.requireAll();
    const ask = (worker: number) => this.group.askOne(worker, "controlReplay", id, change);
    const settled = await Promise.allSettled(this.group.numbers.map(ask));
    const failed = settled.flatMap((each) => (each.status === "rejected" ? [each.reason as { code?: unknown }] : []));
    const wrong = failed.find(({ code }) => code !== "conflict");
    if (wrong !== undefined || failed.length === settled.length) throw wrong ?? failed[0];
  }

  /** A worker that ends is not watched any more. */
  watch(id: string, listener: () => void): () => void {
    const ends = this.group.numbers.map((worker) => {
      let changes: AsyncIterator<unknown> | undefined;
      let hasEnded = false;
      const follow = async () => {
        changes = this.group.stream(worker, "replayChanges", id)[Symbol.asyncIterator]();
        while (!(await changes.next()).done && !hasEnded) listener();
      };
      follow().catch(() => {});
      return () => {
        hasEnded = true;
        void changes?.return?.()?.catch(() => {});
      };
    });
    return () => {
      for (const end of ends) end();
    };
  }

  private async require(id: string, work: Promise<unknown>): Promise<ReplayJob> {
    const job = await this.get(id);
    if (job !== undefined) return job;
    await work;
    throw new AdminError("unavailable", "the replay is no longer known");
  }
}

function withSamples(job: ReplayJob, samples: ReplayReport["samples"]): ReplayJob {
  return { ...job, report: { ...job.report!, ...(samples && { samples }) } };
}
