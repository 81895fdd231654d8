import type { Admin, Operator } from "#contract/operations";

/** The part of an agent's administration that is about dead letters: a running agent's, or one over a directory. */
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
  /** The same for somebody in particular; see `Admin`. */
  actingAs(operator: Operator): DeadLetterAdmin;
  controlReplay(id: string, change: "pause" | "resume" | "cancel"): unknown;
};

/** Where the dead letters are. `close` lets go of them. */
export interface DeadLetterConnection {
  readonly admin: DeadLetterAdmin;
  /** For people: the URL or the directory. */
  readonly where: string;
  /** No agent runs: nothing is sent for now. */
  readonly isOffline: boolean;
  close(): Promise<void>;
}
