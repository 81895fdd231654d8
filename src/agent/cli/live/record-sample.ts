import { open } from "node:fs/promises";
import { AdminError } from "#contract/operations";
import { byteSize, parseDuration } from "#contract/schema";
import { PRIVATE_FILE_MODE } from "#system";
import { encodeSampled, SAMPLE_MAGIC, type SampledBatch } from "../../rehearsal/sample-file.js";
import { operatorOf } from "../agent/operator.js";
import { type AgentEvent, readEvents } from "../agent/read-events.js";
import { positionalArguments } from "../agent/report.js";
import { withAgent } from "../agent/with-agent.js";
import type { CommandContext } from "../command.js";
import { pluralize, roughByteSize } from "../print/text.js";
import { EXIT, UsageError } from "../terminal.js";

/** `sluice tap --record FILE` */
export function recordSample(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const file = values["record"] as string;
  const receivers = positionalArguments(context);
  const { actor: by, reason } = operatorOf(context);
  if (reason === undefined)
    throw new UsageError("--record writes unmasked records and needs a reason", "give it with --why TEXT");
  const body = {
    by,
    reason,
    ...sampleLimits(values),
    ...maxSize(values["max-size"] as string | undefined),
    ...(receivers.length > 0 && { receivers }),
  };
  return withAgent(context, async (api) => {
    const response = await api.open("/samples", body);
    try {
      const written = await writeSample(file, readEvents(response));
      terminal.err.write(`${recordedText(file, written)}\n`);
      if (written.isComplete) return EXIT.ok;
    } finally {
      response.destroy();
    }
    throw new AdminError("unavailable", "the agent has ended the sample; it may be stopping");
  });
}

/** The duration and share of a sample, as the API expects them. */
export function sampleLimits(values: CommandContext["values"]): { readonly seconds?: number; readonly share?: number } {
  const { for: time, "sample-rate": rate } = values as Readonly<Record<string, string | undefined>>;
  const ms = time === undefined ? undefined : parseDuration(time);
  if (time !== undefined && (ms === undefined || ms < 1000 || ms > 3_600_000))
    throw new UsageError(`--for ${time} is no duration from 1s to 1h`, "write it with a unit: 60s, 5m");
  const share = rate === undefined ? undefined : readShare(rate);
  return { ...(ms !== undefined && { seconds: ms / 1000 }), ...(share !== undefined && { share }) };
}

function readShare(text: string): number {
  const [, digits, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  const share = Number(digits) / (percent === "%" ? 100 : 1);
  if (share > 0 && share <= 1) return share;
  throw new UsageError(`--sample-rate ${text} is no share of the batches`, "write 10%, or 0.1");
}

function maxSize(text: string | undefined): { readonly max_bytes?: number } {
  if (text === undefined) return {};
  const parsed = byteSize().safeParse(text);
  if (!parsed.success || parsed.data < 1) throw new UsageError(`--max-size ${text} is no size`, "write it as 64MiB");
  return { max_bytes: parsed.data };
}

interface WrittenSample {
  readonly batches: number;
  readonly bytes: number;
  /** Records that passed and were not sampled in time. */
  readonly missed: number;
  /** False if the agent went away. The file has everything that came until then. */
  readonly isComplete: boolean;
}

/** Writes each batch when it comes, so that the file is usable whenever the recording ends. */
async function writeSample(file: string, events: AsyncIterable<AgentEvent>): Promise<WrittenSample> {
  const handle = await open(file, "wx", PRIVATE_FILE_MODE);
  let [batches, bytes, missed] = [0, 0, 0];
  const summary = (isComplete: boolean) => ({ batches, bytes, missed, isComplete });
  try {
    await handle.writev([SAMPLE_MAGIC]);
    for await (const { event, data } of events) {
      if (event === "end") return summary(true);
      if (event === "dropped") missed += data.records;
      if (event !== "batch") continue;
      const { at, receiver, signal, payload } = data as Omit<SampledBatch, "bytes"> & { readonly payload: string };
      const entry = { receiver, signal, at, bytes: Buffer.from(payload, "base64") };
      await handle.writev(encodeSampled(entry));
      batches += 1;
      bytes += entry.bytes.length;
    }
    return summary(false);
  } finally {
    await handle.close();
  }
}

function recordedText(file: string, { batches, bytes, missed }: WrittenSample): string {
  const sizes = `${pluralize(batches, "batch", "batches")}, ${roughByteSize(bytes)}`;
  const note = missed === 0 ? "" : ` ${pluralize(missed, "record")} passed and could not be recorded in time.`;
  return `Recorded ${sizes} to ${file}. The file contains records unmasked: keep it private.${note}`;
}
