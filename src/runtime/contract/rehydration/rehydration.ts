/**
 * A request to send archived records again. Times are ISO 8601 with a zone, milliseconds since the epoch, or a duration
 * before now such as `30d`.
 */
export interface RehydrationRequest {
  /** `s3://bucket/prefix`, or `file:` and the path of a folder. */
  readonly from: string;
  /** The exporter that gets the records. */
  readonly to: string;
  readonly since: string;
  /** By default now. */
  readonly until?: string | undefined;
  /** An OTTL condition: only records for which it holds are sent. */
  readonly where?: string | undefined;
  /** The most records per second; by default there is no limit. */
  readonly rate?: number | undefined;
  /** The format of the archive's partitions, or `none`. By default that of the exporter aws_s3. */
  readonly partition?: string | undefined;
  /** The time zone of the partitions. By default that of the agent's machine. */
  readonly timezone?: string | undefined;
  /** For S3: where the bucket is. */
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly pathStyle?: boolean | undefined;
  /** Only lists the objects and reads a few of them, to tell how much there is. */
  readonly dryRun?: boolean | undefined;
  /** Begins anew, even if an earlier run of the same request was interrupted. */
  readonly restart?: boolean | undefined;
}

/** How much an archive has for a request. Objects and bytes are exact; records are estimated from a sample. */
export interface RehydrationEstimate {
  readonly objects: number;
  /** Of the objects as they are stored. */
  readonly bytes: number;
  readonly records: number;
  /** Records for which the condition holds. */
  readonly matching: number;
  /** How many objects were read; if all were, the numbers of records are exact. */
  readonly sampled: number;
}

/** An object that was left out as a whole or in part. */
export interface RehydrationProblem {
  readonly object: string;
  readonly fault: string;
  readonly message: string;
  /** Records of the object that were sent anyway. */
  readonly sent: number;
}

/**
 * A rehydration and its progress. `interrupted`: the agent stopped; the same request continues where it ended. So does
 * that of a cancelled or failed one.
 */
export interface Rehydration {
  readonly id: string;
  readonly state: "running" | "done" | "cancelled" | "failed" | "interrupted";
  readonly by: string;
  readonly reason?: string | undefined;
  readonly from: string;
  readonly to: string;
  readonly since: number;
  readonly until: number;
  readonly where?: string | undefined;
  readonly rate?: number | undefined;
  readonly dryRun: boolean;
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  /** How often it was resumed after an interruption. */
  readonly resumed: number;
  /** Objects that are done, and their stored bytes. */
  readonly objects: number;
  readonly bytes: number;
  /** Records that were read, that the condition chose, and that the exporter's queue has taken. */
  readonly read: number;
  readonly matched: number;
  readonly sent: number;
  /** Numbers of objects with problems, by fault. */
  readonly faults: Readonly<Record<string, number>>;
  /** The first objects with problems. All of them are in the agent's log. */
  readonly problems: readonly RehydrationProblem[];
  /** Present if a dry run of the same request came before. */
  readonly estimate?: RehydrationEstimate | undefined;
  /** For a dry run: the last complete run of the same request, whose records would be sent again. */
  readonly earlier?: { readonly id: string; readonly endedAt: number; readonly sent: number } | undefined;
  /** For a dry run: the interrupted run that the same request would resume. */
  readonly resumes?: { readonly id: string; readonly objects: number; readonly sent: number } | undefined;
  readonly error?: string | undefined;
}

/** Sends archived records again, as jobs in the background. Methods reject with an `AdminError`. */
export interface Rehydrations {
  /** Starts a rehydration, or resumes an interrupted one of the same request. */
  start(request: RehydrationRequest, operator: RehydrationStarter): Promise<Rehydration>;
  /** The newest first, including those of earlier runs of the agent. Dry runs are forgotten when the agent stops. */
  list(limit?: number): Promise<readonly Rehydration[]>;
  get(id: string): Promise<Rehydration | undefined>;
  /** Stops a running one. Records that were sent stay sent. Resolves when it has stopped. */
  cancel(id: string): Promise<void>;
}

/** Who starts a rehydration. */
export interface RehydrationStarter {
  readonly by: string;
  readonly reason?: string | undefined;
  /** @internal Called when the job has ended, unless the agent stops. */
  readonly onEnd?: ((ended: Rehydration) => void) | undefined;
}

/** Resource attributes of rehydrated records. */
export const REHYDRATED_ATTRIBUTE = "sluice.rehydrated";
export const REHYDRATED_FROM_ATTRIBUTE = "sluice.rehydrated_from";
