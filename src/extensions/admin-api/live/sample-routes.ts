import { z } from "zod";
import { type AgentInspection, sampleTraffic, type TapBudget } from "#contract/operations";
import { type ContextName, isOttlError } from "#ottl";
import { type Batch, type Clock, isMalformed, SIGNALS } from "../../../plugin.js";
import type { EventSource, EventStream } from "../events.js";
import { badRequest, HttpError } from "../http-error.js";
import { operatorFields, requiredReason } from "../operator.js";
import { type ApiRoute, type RouteRequest, route } from "../route.js";

const MAX_SECONDS = 3600;
const MAX_BYTES = 1024 ** 3;
const DEFAULT_BYTES = 64 * 1024 ** 2;
/** A larger batch is not sent, because it would fill the memory of a slow reader. */
const MAX_BATCH_BYTES = 8 * 1024 ** 2;

const sampleBody = z.strictObject({
  ...operatorFields,
  reason: requiredReason,
  seconds: z.number().min(1).max(MAX_SECONDS).default(60),
  max_bytes: z.number().int().min(1).max(MAX_BYTES).default(DEFAULT_BYTES),
  share: z.number().gt(0).max(1).default(1),
  receivers: z.array(z.string()).min(1).optional(),
});

type SampleBody = z.infer<typeof sampleBody>;

/** Streams batches as receivers hand them in, unmasked: the audit has who asked, and why. */
export const sampleRoutes: readonly ApiRoute[] = [
  route({ at: "POST /samples", role: "reveal" }, { takes: sampleBody }, sample),
];

async function sample({ inspection, clock, sampleBudget: budget, body, acting }: RouteRequest<SampleBody>) {
  const { by, reason, ...wanted } = await body();
  if (inspection === undefined) throw new HttpError("unavailable", "the agent is starting");
  checkReceivers(wanted.receivers, inspection);
  await acting({ by, reason }).noteReveal("live traffic", wanted);
  return { events: sampleEvents(wanted, { inspection, clock, budget }), counted: "records" };
}

function checkReceivers(wanted: SampleBody["receivers"], { graph }: AgentInspection): void {
  const known = graph.nodes.filter(({ kind }) => kind === "receiver").map(({ name }) => name);
  const unknown = wanted?.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw badRequest(`there is no receiver ${JSON.stringify(unknown)}; there are: ${known.join(", ")}`);
}

interface SampleServices {
  readonly inspection: AgentInspection;
  readonly clock: Clock;
  readonly budget: TapBudget;
}

type SampleLimits = Omit<SampleBody, "by" | "reason">;

/** Sends an event `batch` for each batch, and `end` when the time or the bytes are used up. */
function sampleEvents({ seconds, max_bytes, share, receivers }: SampleLimits, services: SampleServices): EventSource {
  const { inspection, clock, budget } = services;
  return (stream) => {
    let left = max_bytes;
    let isOver = false;
    const end = (reason: string) => {
      if (isOver) return;
      isOver = true;
      stream.reportDropped();
      stream.send("end", { reason });
      stream.end();
    };
    const settings = { share, receivers: receivers && new Set(receivers) };
    const stopSampling = sampleTraffic(inspection, settings, (batch, receiver) => {
      if (isOver) return;
      if (batch.byteLength > left) return end("bytes");
      const missed = budget.run(() => sendBatch(stream, batch, receiver, clock.now())) ?? batch.count;
      stream.drop(missed);
      if (missed === 0) left -= batch.byteLength;
    });
    const cancelEnd = clock.after(seconds * 1000, () => end("time"));
    const report = () => {
      stream.reportDropped();
      cancelReport = clock.after(REPORT_MS, report);
    };
    let cancelReport = clock.after(REPORT_MS, report);
    return () => {
      isOver = true;
      stopSampling();
      cancelEnd();
      cancelReport();
    };
  };
}

const REPORT_MS = 1000;

/** Returns how many records were not sent and are not counted as lost yet: the stream itself counts one. */
function sendBatch(stream: EventStream, { signal, bytes, count }: Batch, receiver: string, at: number): number {
  if (bytes.length > MAX_BATCH_BYTES) return count;
  const payload = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
  const head = JSON.stringify({ at, receiver, signal });
  // Base64 needs no escaping, so the payload is not put through JSON.stringify: that would cost more than all the rest.
  return stream.sendJson("batch", `${head.slice(0, -1)},"payload":"${payload}"}`) ? 0 : count - 1;
}

const MAX_STATEMENTS = 100;
const CONTEXTS = ["resource", "scope", "log", "span", "spanevent", "metric", "datapoint", "exemplar"] as const;

const json = z.record(z.string(), z.unknown());

const ottlBody = z
  .strictObject({
    context: z.enum(CONTEXTS satisfies readonly ContextName[]).optional(),
    signal: z.enum(SIGNALS).optional(),
    statements: z.array(z.string()).max(MAX_STATEMENTS).optional(),
    condition: z.string().optional(),
    record: json,
    resource: json.optional(),
    scope: json.optional(),
  })
  .refine(({ statements, condition }) => (statements === undefined) !== (condition === undefined), {
    error: "give statements or a condition",
  });

/** Tries OTTL statements on a record in the request. The agent itself is not affected. */
export const ottlRoutes: readonly ApiRoute[] = [
  route({ at: "POST /ottl", role: "view" }, { needs: "nothing", takes: ottlBody }, async ({ body, trials }) => {
    const trial = await body();
    try {
      return { json: await trials.run(trial) };
    } catch (error) {
      if (isMalformed(error)) throw badRequest(`record: this is not OTLP: ${error.message}`);
      if (isOttlError(error)) throw badRequest(error.message);
      throw error;
    }
  }),
];
