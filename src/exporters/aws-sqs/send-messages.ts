import type { SqsQueue } from "#brokers/sqs";
import { ERROR_CODES } from "#contract/errors";
import { Refusal } from "../../plugin.js";
import { type SqsEntry, sizeOf } from "./outgoing-message.js";

/** Sends entries to a queue, and resolves with a refusal, or undefined for success, for each of them. */
export async function sendMessages(
  queue: SqsQueue,
  entries: readonly SqsEntry[],
  maxBytes: number,
  abort: AbortSignal,
): Promise<(Refusal | undefined)[]> {
  const results = entries.map((entry) => refusalOfSize(sizeOf(entry), maxBytes));
  const blocked = new Map<string, Refusal>();
  for (const round of queue.isFifo ? roundsOf(entries) : [entries.map((_, i) => i)]) {
    for (const i of round) results[i] ??= blocked.get(entries[i]!.MessageGroupId ?? "");
    const sent = round.filter((i) => results[i] === undefined);
    const limits = { maxBytes, sizeOf };
    const answers = await queue.callInBatches(
      "SendMessageBatch",
      sent.map((i) => entries[i]!),
      abort,
      limits,
    );
    for (const [at, i] of sent.entries()) {
      results[i] = answers[at];
      const { MessageGroupId: group } = entries[i]!;
      if (answers[at] !== undefined && group !== undefined && queue.isFifo && answers[at].kind !== "permanent")
        blocked.set(group, answers[at]);
    }
  }
  return results;
}

/**
 * The entries that go to a FIFO queue together, by their indexes: one of each group. SQS may fail some entries of a
 * request and take others, and the next message of a group must not get ahead of one that has to be sent again.
 */
function roundsOf(entries: readonly SqsEntry[]): number[][] {
  const rounds: number[][] = [];
  const sizes = new Map<string, number>();
  for (const [i, { MessageGroupId: group = "" }] of entries.entries()) {
    const round = sizes.get(group) ?? 0;
    sizes.set(group, round + 1);
    (rounds[round] ??= []).push(i);
  }
  return rounds;
}

function refusalOfSize(bytes: number, max: number): Refusal | undefined {
  if (bytes <= max) return undefined;
  const message = `a message of ${bytes} bytes with its attributes is larger than max_message_size, ${max}`;
  return new Refusal("permanent", message, { code: ERROR_CODES.SLUICE_TOO_LARGE, category: "schema" });
}
