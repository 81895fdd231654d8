import { z } from "zod";
import { OPERATIONS } from "#contract/api";
import { type Admin, AdminError, type ReplayJob } from "#contract/operations";
import { badRequest } from "./http-error.js";
import { type Actor, actorName, operatorFields } from "./operator.js";
import { readNumber, readSelection, requireReveal, selectionFields } from "./parameters.js";
import { type ApiRoute, type RouteAnswer, type RouteRequest, route, view } from "./route.js";

const replayBody = z.strictObject({
  ...selectionFields,
  ...operatorFields,
  rate: z.number().optional(),
  approved: z.boolean().optional(),
  generation: z.string().optional(),
  pipeline: z.string().or(z.literal(false)).optional(),
  to: z.string().optional(),
  transform: z.array(z.string()).optional(),
  samples: z.number().optional(),
  reveal: z.boolean().optional(),
});

/** The keys of a replay request. */
export const REPLAY_KEYS: readonly string[] = Object.keys(replayBody.shape);

const controlBody = z.strictObject(operatorFields);
const EVENT_INTERVAL_MS = 500;
const CHANGES = ["pause", "resume", "cancel"] as const;

export const replayRoutes: readonly ApiRoute[] = [
  route(OPERATIONS.startReplay, { takes: replayBody }, startReplay),
  route(OPERATIONS.replays, { query: ["limit"] }, async ({ admin, values: { limit } }) => ({
    body: { replays: await admin.replays(limit === undefined ? undefined : readNumber("limit", limit)) },
  })),
  route(OPERATIONS.replayJob, {}, async ({ admin, id }) => ({ body: await requireJob(admin, id) })),
  route({ at: "DELETE /replays/:id", role: "replay" }, {}, ({ id, acting }) => control(acting(), id, "cancel")),
  ...CHANGES.map((change) =>
    route(
      { ...OPERATIONS.controlReplay, at: `POST /replays/:id/${change}` },
      { takes: controlBody },
      async ({ id, body, acting }) => control(acting(await body()), id, change),
    ),
  ),
  view("GET /replays/:id/events", {}, followReplay),
];

async function startReplay({ actor, body, acting }: RouteRequest<z.infer<typeof replayBody>>) {
  const {
    by,
    reason,
    rate,
    generation,
    pipeline,
    to,
    transform,
    samples,
    reveal = false,
    approved = false,
    dry_run: older = false,
    dryRun = older,
    ...selected
  } = await body();
  if (reveal) checkReveal(actor, reason, samples);
  // Results of statements with conditions reveal content, and editing needs this role too.
  if (transform !== undefined) requireReveal(actor, "transform changes records");
  const given = {
    to,
    transform,
    samples,
    revealSamples: reveal,
    ...(rate !== undefined && { rate }),
    ...(generation !== undefined && { generation }),
    ...(pipeline !== undefined && { pipeline }),
  };
  const options = { by: actorName(by, actor), approved, dryRun, ...given };
  const { outcomes: _, ...job } = await acting({ by, reason }).startReplay(readSelection(selected, actor), options);
  return { status: job.state === "running" ? 202 : 200, body: job };
}

/** Unmasked samples are for callers who may see payloads and give a reason. */
function checkReveal(actor: Actor, reason: string | undefined, samples: number | undefined): void {
  requireReveal(actor, "reveal shows records as they are");
  if (samples === undefined) throw badRequest("reveal is about samples");
  if (!reason) throw badRequest("a reason is required");
}

async function control(admin: Admin, id: string, change: (typeof CHANGES)[number]) {
  await requireJob(admin, id);
  await admin.controlReplay(id, change);
  return { body: await requireJob(admin, id) };
}

/** Streams the progress, at most twice a second, until every replayed entry has left its queue. */
async function followReplay({ admin, id }: RouteRequest): Promise<RouteAnswer<never>> {
  await requireJob(admin, id);
  return {
    events(stream) {
      let timer: NodeJS.Timeout | undefined;
      const tell = async () => {
        timer = undefined;
        const job = await admin.replayJob(id).catch(() => undefined);
        if (job === undefined) return stream.end();
        const { outcomes: _, ...progress } = job;
        stream.send(job.isSettled ? "settled" : "progress", progress);
        if (job.isSettled) stream.end();
      };
      const schedule = () => {
        timer ??= setTimeout(tell, EVENT_INTERVAL_MS);
      };
      const stopWatching = admin.watchReplay(id, schedule);
      void tell();
      return () => {
        stopWatching();
        clearTimeout(timer);
      };
    },
  };
}

async function requireJob(admin: Admin, id: string): Promise<ReplayJob> {
  const job = await admin.replayJob(id);
  if (job === undefined) throw new AdminError("not_found", "there is no such replay, or it was forgotten");
  return job;
}
