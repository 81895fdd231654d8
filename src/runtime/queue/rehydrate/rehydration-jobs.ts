import { randomBytes } from "node:crypto";
import { ArchivedObjects, type ArchiveSource } from "#archive";
import type { Clock, Logger } from "#contract";
import { AdminError, type DeadLetterLanguage } from "#contract/operations";
import type {
  Rehydration,
  RehydrationEstimate,
  RehydrationRequest,
  RehydrationStarter,
  Rehydrations,
} from "#contract/rehydration";
import type { Signal } from "#otlp/signals";
import { type Controls, controlOf } from "../dead-letters/dead-letters.js";
import type { KeptRecord, RecordLog } from "../store/record-log.js";
import { ArchiveHandIn } from "./archive-hand-in.js";
import { type ArchivePlace, type CheckedRequest, checkRequest } from "./checked-request.js";
import { estimateArchive } from "./estimate.js";
import { NO_PROGRESS, RehydrationRun, type RunPosition, type RunProgress } from "./rehydration-run.js";

/** A rehydration as it is kept on disk, with the position where it continues. */
export interface RehydrationRecord {
  readonly at: number;
  readonly fingerprint: string;
  readonly job: Rehydration;
  readonly position: RunPosition;
}

interface RehydrationServices {
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly controls: Controls;
  readonly language: DeadLetterLanguage;
  readonly log: RecordLog<RehydrationRecord>;
  readonly openArchive: (place: ArchivePlace) => ArchiveSource;
  /** Whether exporters take records: false while the agent stops. */
  readonly isReady: () => boolean;
}

/** A rehydration that runs, or a dry run, which is not kept on disk. */
interface ActiveJob {
  readonly fingerprint: string;
  readonly abort: AbortController;
  job: Rehydration;
  ended: Promise<void>;
}

const MAX_RUNNING = 4;
const MAX_DRY_RUNS = 50;
const DEFAULT_LIMIT = 100;
/**
 * The position is written after so many changes or so much time. The queue recognises the batches that it took since
 * then, if the agent was killed; it remembers many more than these.
 */
const MAX_UNWRITTEN = 32;
const WRITE_INTERVAL_MS = 1000;
const STOPPING = Symbol("the agent stops");

/**
 * Sends archived records again, in the background. Each rehydration is kept on disk with its position. If the agent is
 * stopped or killed, the same request continues from there.
 */
export class RehydrationJobs implements Rehydrations {
  private readonly services: RehydrationServices;
  private readonly running = new Map<string, ActiveJob>();
  private readonly dryRuns = new Map<string, ActiveJob>();
  /** One starts after the other, so that each sees those that run. */
  private starting: Promise<unknown> = Promise.resolve();

  constructor(services: RehydrationServices) {
    this.services = services;
  }

  start(request: RehydrationRequest, starter: RehydrationStarter): Promise<Rehydration> {
    const started = this.starting.then(() => this.startNext(request, starter));
    this.starting = started.catch(() => {});
    return started;
  }

  private async startNext(request: RehydrationRequest, starter: RehydrationStarter): Promise<Rehydration> {
    const { clock, language, controls } = this.services;
    const checked = checkRequest(request, language, clock.now());
    const control = controlOf(controls, request.to);
    if (control.accept === undefined || control.pipelines === undefined)
      throw new AdminError("bad_request", `${request.to} cannot take archived records`);
    if (this.running.size >= MAX_RUNNING)
      throw new AdminError(
        "conflict",
        `${this.running.size} rehydrations are running: wait for one to end, or cancel one`,
      );
    for (const { fingerprint, job } of this.running.values())
      if (fingerprint === checked.fingerprint && !request.dryRun)
        throw new AdminError("conflict", `it is running already: ${job.id}`);
    const kept = await this.lastOf(checked.fingerprint);
    if (request.dryRun) return this.startDryRun(checked, starter, kept);
    const isResumed = kept !== undefined && kept.record.job.state !== "done" && request.restart !== true;
    return isResumed ? this.resume(request, starter, kept) : this.begin(checked, starter);
  }

  async list(limit = DEFAULT_LIMIT): Promise<readonly Rehydration[]> {
    const found = [...this.dryRuns.values()].map(({ job }) => job).reverse();
    for await (const { record } of this.services.log.walk("newest")) {
      if (found.length >= limit) break;
      found.push(this.shown(record.job));
    }
    return found.sort((one, other) => other.startedAt - one.startedAt).slice(0, limit);
  }

  async get(id: string): Promise<Rehydration | undefined> {
    const active = this.running.get(id) ?? this.dryRuns.get(id);
    if (active !== undefined) return active.job;
    const kept = await this.services.log.find(recordId(id));
    return kept && this.shown(kept.record.job);
  }

  async cancel(id: string): Promise<void> {
    const active = this.running.get(id) ?? this.dryRuns.get(id);
    if (active === undefined) throw new AdminError("conflict", "this rehydration is not running");
    active.abort.abort();
    await active.ended;
  }

  /** Interrupts all of them, and resolves when their positions are on disk. */
  async stop(): Promise<void> {
    const active = [...this.running.values(), ...this.dryRuns.values()];
    for (const { abort } of active) abort.abort(STOPPING);
    await Promise.all(active.map(({ ended }) => ended));
  }

  private async startDryRun(
    checked: CheckedRequest,
    starter: RehydrationStarter,
    kept: KeptRecord<RehydrationRecord> | undefined,
  ): Promise<Rehydration> {
    const job: Rehydration = { ...newJob(checked, starter, this.services.clock.now()), dryRun: true, ...facts(kept) };
    const active = this.track(this.dryRuns, checked, job);
    const [oldest] = this.dryRuns.keys();
    if (this.dryRuns.size > MAX_DRY_RUNS && oldest !== undefined) this.dryRuns.delete(oldest);
    const show = (estimate: RehydrationEstimate) => {
      active.job = { ...active.job, estimate, objects: estimate.objects, bytes: estimate.bytes };
    };
    const { to } = checked.request;
    const takes = (signal: Signal) =>
      controlOf(this.services.controls, to).pipelines?.some((each) => each.signal === signal) ?? false;
    active.ended = this.run(active, checked, async (source) => {
      const objects = this.objectsOf(source, checked, active);
      show(await estimateArchive({ objects, condition: checked.condition, takes, onProgress: show }));
    }).then((ended) => {
      active.job = ended;
    });
    return active.job;
  }

  private async begin(checked: CheckedRequest, starter: RehydrationStarter): Promise<Rehydration> {
    const { log, clock } = this.services;
    const estimate = this.estimateOf(checked.fingerprint);
    const job = { ...newJob(checked, starter, clock.now()), ...(estimate && { estimate }) };
    const record = { at: job.startedAt, fingerprint: checked.fingerprint, job, position: NO_PROGRESS.position };
    const kept = await log.add(record, { id: recordId(job.id) });
    return this.go(checked, starter, kept, job);
  }

  private async resume(
    request: RehydrationRequest,
    starter: RehydrationStarter,
    kept: KeptRecord<RehydrationRecord>,
  ): Promise<Rehydration> {
    const { language, clock } = this.services;
    const { endedAt: _, error: __, ...before } = kept.record.job;
    const checked = checkRequest(request, language, clock.now(), before);
    const estimate = this.estimateOf(checked.fingerprint) ?? before.estimate;
    const job: Rehydration = {
      ...before,
      state: "running",
      by: starter.by,
      reason: starter.reason,
      rate: request.rate,
      resumed: before.resumed + 1,
      ...(estimate && { estimate }),
    };
    return this.go(checked, starter, kept, job);
  }

  private go(
    checked: CheckedRequest,
    starter: RehydrationStarter,
    kept: KeptRecord<RehydrationRecord>,
    job: Rehydration,
  ): Rehydration {
    const active = this.track(this.running, checked, job);
    const writer = new PositionWriter(this.services, kept, checked.fingerprint);
    const { objects, bytes, read, matched, sent, faults, problems } = job;
    const progress = { position: kept.record.position, objects, bytes, read, matched, sent, faults, problems };
    const run = (source: ArchiveSource) => this.createRun(source, checked, active, progress, writer).run();
    // It is shown as ended when that is on disk: the next request reads there whether it resumes this job.
    active.ended = this.run(active, checked, run).then(async (ended) => {
      await writer.write(ended);
      active.job = ended;
      this.running.delete(job.id);
      if (ended.state !== "interrupted") starter.onEnd?.(ended);
    });
    return active.job;
  }

  private createRun(
    source: ArchiveSource,
    checked: CheckedRequest,
    active: ActiveJob,
    progress: RunProgress,
    writer: PositionWriter,
  ): RehydrationRun {
    const { clock, logger, controls, isReady } = this.services;
    const { request, condition } = checked;
    const requireReady = () => {
      if (!isReady()) active.abort.abort(STOPPING);
      active.abort.signal.throwIfAborted();
    };
    return new RehydrationRun(
      active.job.id,
      progress,
      {
        clock,
        logger,
        condition,
        rate: request.rate,
        objects: this.objectsOf(source, checked, active),
        handIn: new ArchiveHandIn(request.to, source.transport, { clock, controls, requireReady }),
        prepare: controlOf(controls, request.to).prepare,
        onProgress: ({ position, ...counts }) => {
          active.job = { ...active.job, ...counts };
          return writer.moved(active.job, position);
        },
      },
      active.abort.signal,
    );
  }

  /** Runs the work and returns the job in its final state. Never rejects. */
  private async run(
    active: ActiveJob,
    { place }: CheckedRequest,
    work: (source: ArchiveSource) => Promise<unknown>,
  ): Promise<Rehydration> {
    const { clock, logger, openArchive } = this.services;
    const { signal } = active.abort;
    let source: ArchiveSource | undefined;
    try {
      source = openArchive(place);
      await work(source);
      return { ...active.job, state: "done", endedAt: clock.now() };
    } catch (error) {
      const { message } = error as Error;
      if (signal.aborted) {
        const state = signal.reason === STOPPING ? "interrupted" : "cancelled";
        return { ...active.job, state, endedAt: clock.now() };
      }
      logger.error({ err: error, rehydration: active.job.id }, "a rehydration failed; the same request resumes it");
      return { ...active.job, state: "failed", error: message, endedAt: clock.now() };
    } finally {
      source?.close?.();
    }
  }

  private objectsOf(source: ArchiveSource, { selection }: CheckedRequest, { abort }: ActiveJob): ArchivedObjects {
    return new ArchivedObjects(source, selection, this.services, abort.signal);
  }

  private track(jobs: Map<string, ActiveJob>, { fingerprint }: CheckedRequest, job: Rehydration): ActiveJob {
    const active: ActiveJob = { fingerprint, abort: new AbortController(), job, ended: Promise.resolve() };
    jobs.set(job.id, active);
    return active;
  }

  private async lastOf(fingerprint: string): Promise<KeptRecord<RehydrationRecord> | undefined> {
    for await (const kept of this.services.log.walk("newest")) if (kept.record.fingerprint === fingerprint) return kept;
    return undefined;
  }

  private estimateOf(fingerprint: string): RehydrationEstimate | undefined {
    const same = [...this.dryRuns.values()].filter((each) => each.fingerprint === fingerprint);
    return same.findLast(({ job }) => job.state === "done")?.job.estimate;
  }

  /** A job that was running when the agent was killed is interrupted. */
  private shown(job: Rehydration): Rehydration {
    const active = this.running.get(job.id);
    if (active !== undefined) return active.job;
    return job.state === "running" ? { ...job, state: "interrupted" } : job;
  }
}

/** Writes the position of a job now and then, and at its end. */
class PositionWriter {
  private readonly services: RehydrationServices;
  private readonly kept: KeptRecord<RehydrationRecord>;
  private readonly fingerprint: string;
  private position: RunPosition;
  private unwritten = 0;
  private writtenAt: number;

  constructor(services: RehydrationServices, kept: KeptRecord<RehydrationRecord>, fingerprint: string) {
    this.services = services;
    this.kept = kept;
    this.fingerprint = fingerprint;
    this.position = kept.record.position;
    this.writtenAt = services.clock.monotonic();
  }

  /** Returns a promise if the position is being written. */
  moved(job: Rehydration, position: RunPosition): Promise<void> | undefined {
    this.position = position;
    this.unwritten++;
    const isDue = this.services.clock.monotonic() - this.writtenAt >= WRITE_INTERVAL_MS;
    return this.unwritten >= MAX_UNWRITTEN || isDue ? this.write(job) : undefined;
  }

  /** Never rejects. A position that is not written costs time or duplicates later, but nothing is lost. */
  async write(job: Rehydration): Promise<void> {
    const { clock, log, logger } = this.services;
    const { fingerprint, position, kept } = this;
    this.unwritten = 0;
    this.writtenAt = clock.monotonic();
    try {
      await log.replace(kept, { at: kept.record.at, fingerprint, job, position });
    } catch (error) {
      logger.error({ err: error, rehydration: job.id }, "the position of a rehydration cannot be written");
    }
  }
}

function newJob({ request, selection }: CheckedRequest, { by, reason }: RehydrationStarter, now: number): Rehydration {
  const { from, to, where, rate } = request;
  const { position: _, ...counts } = NO_PROGRESS;
  return {
    id: randomBytes(6).toString("hex"),
    state: "running",
    by,
    from,
    to,
    dryRun: false,
    startedAt: now,
    resumed: 0,
    since: selection.since,
    until: selection.until,
    ...counts,
    ...(reason !== undefined && { reason }),
    ...(where !== undefined && { where }),
    ...(rate !== undefined && { rate }),
  };
}

/** The effect of an earlier run on the next one of the same request. */
function facts(kept: KeptRecord<RehydrationRecord> | undefined): Pick<Rehydration, "earlier" | "resumes"> {
  if (kept === undefined) return {};
  const { id, state, endedAt = 0, sent, objects } = kept.record.job;
  return state === "done" ? { earlier: { id, endedAt, sent } } : { resumes: { id, objects, sent } };
}

/** Entries and other records share one lookup by id. */
function recordId(id: string): string {
  return `rehydration-${id}`;
}
