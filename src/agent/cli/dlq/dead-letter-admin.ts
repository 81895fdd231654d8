import type { Admin, Operator } from "#contract/operations";

/** The part of the admin interface that is about dead letters, of a running agent or of a directory. */
export type DeadLetterAdmin = Pick<
  Admin,
  | "listDeadLetters"
  | "deadLetter"
  | "payload"
  | "editDeadLetter"
  | "deadLetterStats"
  | "startReplay"
  | "replays"
  | "replayJob"
  | "deleteDeadLetters"
  | "restoreDeadLetters"
  | "exportDeadLetters"
  | "importDeadLetters"
  | "audit"
> & {
  /** Returns an admin whose changes are recorded under this operator's name; see `Admin`. */
  actingAs(operator: Operator): DeadLetterAdmin;
  controlReplay(id: string, change: "pause" | "resume" | "cancel"): unknown;
};

/** Open dead letters. `close` releases them. */
export interface DeadLetterConnection {
  readonly admin: DeadLetterAdmin;
  /** The agent's URL or the directory, for display. */
  readonly where: string;
  /** True when no agent runs: replayed entries are sent only when one starts. */
  readonly isOffline: boolean;
  close(): Promise<void>;
}
