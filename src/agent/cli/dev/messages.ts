import type { TappedRecord } from "#contract/api";

/**
 * The messages between the two processes of `sluice dev`. One process has the terminal, and never runs code of a
 * plugin: it answers keys whatever a plugin does. The other one is the agent.
 */

/** From the agent to the terminal. */
export type AgentMessage =
  | { readonly kind: "files"; readonly files: readonly ReadFile[] }
  /** Replaces the problems that were shown before; there may be none. */
  | { readonly kind: "problems"; readonly lines: readonly string[] }
  | { readonly kind: "ready"; readonly pipelines: readonly string[] }
  | { readonly kind: "reloaded"; readonly outcome: DevOutcome; readonly changes: readonly string[] }
  | { readonly kind: "record"; readonly pipeline: string; readonly record: TappedRecord }
  /** Records that passed and were not sent here, since the last message of this kind. */
  | { readonly kind: "missed"; readonly records: number }
  /** Sent at short intervals: without it the agent hangs. */
  | { readonly kind: "alive"; readonly counts: TrafficCounts | undefined }
  | { readonly kind: "notice"; readonly text: string };

/** A file that was read, with the signatures of it and of its folder from just before that. */
export interface ReadFile {
  readonly file: string;
  readonly signature: string;
  readonly folder: string;
}

/** `restart`: the change needs a new process. */
export type DevOutcome = "applied" | "unchanged" | "invalid" | "rolled_back" | "restart";

/** Numbers of records since the start of the agent, or since its last reload. */
export interface TrafficCounts {
  readonly received: number;
  /** Handed to exporters. */
  readonly exported: number;
  /** By component: records that it dropped on purpose, or refused because it failed. */
  readonly lost: readonly { readonly id: string; readonly dropped: number; readonly refused: number }[];
}

/** From the terminal to the agent. */
export type TerminalMessage =
  | { readonly kind: "reload" }
  | { readonly kind: "stop" }
  | ({ readonly kind: "show" } & ShownRecords);

/** Which records are shown. */
export interface ShownRecords {
  /** A valid OTTL condition; empty: all. */
  readonly where: string;
  /** Components and pipelines; empty: all exporters. */
  readonly at: readonly string[];
  /** Per second; 0: none. */
  readonly rate: number;
}

/** The variable that tells a process that it is the agent of `sluice dev`; the value says how it writes. */
export const AGENT_VARIABLE = "SLUICE_DEV_AGENT";
