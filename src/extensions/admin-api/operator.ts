import type { IncomingMessage } from "node:http";
import { z } from "zod";
import type { Operator } from "#contract/operations";
import type { Actor } from "./roles.js";

const MAX_REASON_LENGTH = 1000;
const MAX_NAME_LENGTH = 200;

/** Why somebody does something, where it must be said. */
export const requiredReason = z
  .string({ error: "say why: a reason is needed" })
  .trim()
  .min(1, "say why: a reason is needed")
  .max(MAX_REASON_LENGTH);

/** What a body says of whoever sends it. */
export const operatorFields = {
  by: z.string().trim().min(1).max(MAX_NAME_LENGTH).optional(),
  reason: z.string().trim().max(MAX_REASON_LENGTH).optional(),
};

export interface SaidOperator {
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** Whoever sends a request: who they are, and the address they ask from. */
export function operatorOf({ socket }: IncomingMessage, { by, reason }: SaidOperator, actor: Actor): Operator {
  return { actor: actorName(by, actor), from: socket.remoteAddress, ...(reason && { reason }) };
}

/** Who somebody says to be, with whose token it is. The owner of the agent may say what it likes. */
export function actorName(by: string | undefined, { name, isOwner }: Actor): string {
  return by === undefined || by === name ? name : isOwner ? by : `${by} (${name})`;
}
