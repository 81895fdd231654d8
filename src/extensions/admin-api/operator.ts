import type { IncomingMessage } from "node:http";
import { z } from "zod";
import type { AdminRole } from "#contract/api";
import type { Operator } from "#contract/operations";

const MAX_REASON_LENGTH = 1000;
const MAX_NAME_LENGTH = 200;

/** The caller of a request. */
export interface Actor {
  /** The name in the log and in the history of dead letters. */
  readonly name: string;
  readonly roles: ReadonlySet<AdminRole>;
  /** True for the token from the token file. Its owner may claim any name. */
  readonly isOwner?: boolean;
}

/** The reason for an action, where one is required. */
export const requiredReason = z
  .string({ error: "a reason is required" })
  .trim()
  .min(1, "a reason is required")
  .max(MAX_REASON_LENGTH);

/** The fields of a body that describe the operator. */
export const operatorFields = {
  by: z.string().trim().min(1).max(MAX_NAME_LENGTH).optional(),
  reason: z.string().trim().max(MAX_REASON_LENGTH).optional(),
};

export interface OperatorInput {
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** Returns the operator of a request: the name, and where it came from. Another name that is claimed is added there. */
export function operatorOf({ socket }: IncomingMessage, { by, reason }: OperatorInput, actor: Actor): Operator {
  const name = actorName(by, actor);
  const address = socket.remoteAddress;
  const from = by === undefined || by === name ? address : `${by} at ${address}`;
  return { actor: name, from, ...(reason && { reason }) };
}

/**
 * Returns the name of the caller's token, so that a person has one name in the audit, however they act. Only the owner
 * of the agent may claim another name.
 */
export function actorName(by: string | undefined, { name, isOwner }: Actor): string {
  return isOwner ? (by ?? name) : name;
}
