import { AdminError } from "#contract/operations";
import { byteSize, parseDuration } from "#contract/schema";
import type { SampledBatch } from "../../rehearsal/sample-file.js";
import { operatorOf } from "../agent/operator.js";
import { readEvents } from "../agent/send-request.js";
import type { AgentApi } from "../agent/with-agent.js";
import type { CommandContext } from "../command.js";
import { UsageError } from "../terminal.js";

const MIN_MS = 1000;
const MAX_MS = 3_600_000;

/** A request for a sample, as `POST /samples` expects it. */
export interface SampleRequest {
  readonly by: string;
  readonly reason: string;
  readonly seconds?: number;
  readonly max_bytes?: number;
  readonly share?: number;
  readonly receivers?: readonly string[];
}

/** Reads the options of a sample. Throws a `UsageError` if one is invalid, or if there is no reason for the audit. */
export function sampleRequest(context: CommandContext, receivers: readonly string[]): SampleRequest {
  const { for: time, "sample-rate": rate, "max-size": size } = context.values as Readonly<Record<string, string>>;
  const { actor: by, reason } = operatorOf(context);
  if (reason === undefined)
    throw new UsageError("a sample contains unmasked records and needs a reason", "give it with --why TEXT");
  return {
    by,
    reason,
    ...(time !== undefined && { seconds: readDuration(time) / 1000 }),
    ...(rate !== undefined && { share: readShare(rate) }),
    ...(size !== undefined && { max_bytes: readSize(size) }),
    ...(receivers.length > 0 && { receivers }),
  };
}

/** A batch, or how many records were not sampled in time. */
export type SampleEvent = SampledBatch | { readonly missed: number };

/**
 * Yields what the agent samples until the sample is complete. Rejects if the agent goes away before. Calls `started` when
 * the agent has begun.
 */
export async function* liveSample(
  api: AgentApi,
  request: SampleRequest,
  started?: () => void,
): AsyncGenerator<SampleEvent> {
  const response = await api.open("/samples", request);
  started?.();
  try {
    for await (const { event, data } of readEvents(response)) {
      if (event === "end") return;
      if (event === "dropped") yield { missed: data.records };
      if (event !== "batch") continue;
      const { at, receiver, signal, payload } = data as Omit<SampledBatch, "bytes"> & { readonly payload: string };
      yield { receiver, signal, at, bytes: Buffer.from(payload, "base64") };
    }
  } finally {
    response.destroy();
  }
  throw new AdminError("unavailable", "the agent ended the sample; it may be stopping");
}

export function readDuration(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= MIN_MS && ms <= MAX_MS) return ms;
  throw new UsageError(`--for ${text} is not a duration from 1s to 1h`, "write it with a unit: 60s, 5m");
}

export function readShare(text: string): number {
  const [, digits, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  const share = Number(digits) / (percent === "%" ? 100 : 1);
  if (share > 0 && share <= 1) return share;
  throw new UsageError(`--sample-rate ${text} is not a share of the batches`, "write 10%, or 0.1");
}

export function readSize(text: string): number {
  const parsed = byteSize().safeParse(text);
  if (parsed.success && parsed.data >= 1) return parsed.data;
  throw new UsageError(`--max-size ${text} is not a size`, "write it as 64MiB");
}
