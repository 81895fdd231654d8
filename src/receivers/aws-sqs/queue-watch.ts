import type { SqsQueue } from "#brokers/sqs";
import type { SourceHealth } from "#contract/operations";
import { atIntervals, withTimeout } from "#resilience";
import type { Clock } from "../../plugin.js";
import { REQUEST_LIMIT_MS } from "./held-messages.js";

const INTERVAL_MS = 10_000;

/**
 * Asks at intervals how many messages wait, and where SQS moves those that are not deleted. An agent without the
 * permission for that goes without. The returned function ends it.
 */
export function watchQueue(queue: SqsQueue, health: SourceHealth, clock: Clock): () => void {
  const stopping = new AbortController();
  const AttributeNames = ["ApproximateNumberOfMessages", "RedrivePolicy"];
  const measure = async (abort: AbortSignal) => {
    const { Attributes = {} } = await queue.call("GetQueueAttributes", { AttributeNames }, abort);
    const { ApproximateNumberOfMessages: lag, RedrivePolicy: policy } = Attributes as Record<string, string>;
    if (lag !== undefined && Number.isFinite(Number(lag))) health.setLag(Number(lag));
    health.describe(redriveFacts(policy));
  };
  // The requests for messages say what is wrong.
  void atIntervals({ first: 0, interval: INTERVAL_MS }, clock, stopping.signal, () =>
    withTimeout(REQUEST_LIMIT_MS, clock, [stopping.signal], measure).catch(() => {}),
  );
  return () => stopping.abort();
}

/** The redrive policy of a queue: after how many deliveries SQS moves a message, and where to. */
function redriveFacts(policy: string | undefined): Readonly<Record<string, string | number>> {
  try {
    const { maxReceiveCount, deadLetterTargetArn } = JSON.parse(policy ?? "{}") as Record<string, unknown>;
    if (deadLetterTargetArn === undefined) return {};
    return { max_receive_count: Number(maxReceiveCount), dead_letter_queue: String(deadLetterTargetArn) };
  } catch {
    return {};
  }
}
