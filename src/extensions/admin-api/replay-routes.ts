import { z } from "zod";
import { type Admin, AdminError, type Operator, type ReplayJob } from "#contract/operations";
import { readBody } from "./body.js";
import { badRequest } from "./http-error.js";
import { actorName, operatorFields, operatorOf } from "./operator.js";
import { readNumber, readParameters, requireReveal } from "./parameters.js";
import type { Actor } from "./roles.js";
import type { ApiRoute, RouteAnswer, RouteRequest } from "./route.js";
import { readSelection, selectionFields } from "./selection-body.js";

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

export const replayRoutes: readonly ApiRoute[] = [
  {
    method: "POST",
    path: "/dead-letters/replay",
    role: "replay",
    async answer({ admin, request, actor }) {
      const body = await readBody(request, replayBody);
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
      } = body;
      if (reveal) checkReveal(actor, reason, samples);
      // Results of statements with conditions reveal content, and editing needs this role too.
      if (transform !== undefined) requireReveal(actor, "transform changes records");
      const given = {
        ...{ to, transform, samples, revealSamples: reveal },
        ...(rate !== undefined && { rate }),
        ...(generation !== undefined && { generation }),
        ...(pipeline !== undefined && { pipeline }),
      };
      const options = { by: actorName(by, actor), approved, dryRun, ...given };
      const acting = admin.actingAs(operatorOf(request, { by, reason }, actor));
      const { outcomes: _, ...job } = await acting.startReplay(readSelection(selected, actor), options);
      return { status: job.state === "running" ? 202 : 200, body: job };
    },
  },
  {
    method: "GET",
    path: "/replays",
    role: "view",
    async answer({ admin, query }) {
      const { limit } = readParameters(query, ["limit"]);
      return { body: { replays: await admin.replays(limit === undefined ? undefined : readNumber("limit", limit)) } };
    },
  },
  {
    method: "GET",
    path: "/replays/:id",
    role: "view",
    answer: async ({ admin, params }) => ({ body: await requireJob(admin, params["id"]!) }),
  },
  {
    method: "DELETE",
    path: "/replays/:id",
    role: "replay",
    answer: async ({ admin, params, request, actor }) => ({
      body: await control(admin, params["id"]!, "cancel", operatorOf(request, {}, actor)),
    }),
  },
  ...(["pause", "resume", "cancel"] as const).map(controlRoute),
  { method: "GET", path: "/replays/:id/events", role: "view", answer: followReplay },
];

/** Unmasked samples are for callers who may see payloads and give a reason. */
function checkReveal(actor: Actor, reason: string | undefined, samples: number | undefined): void {
  requireReveal(actor, "reveal shows records as they are");
  if (samples === undefined) throw badRequest("reveal is about samples");
  if (!reason) throw badRequest("a reason is required");
}

function controlRoute(change: "pause" | "resume" | "cancel"): ApiRoute {
  return {
    method: "POST",
    path: `/replays/:id/${change}`,
    role: "replay",
    async answer({ admin, params, request, actor }) {
      const operator = operatorOf(request, await readBody(request, controlBody), actor);
      return { body: await control(admin, params["id"]!, change, operator) };
    },
  };
}

async function control(
  admin: Admin,
  id: string,
  change: "pause" | "resume" | "cancel",
  operator: Operator,
): Promise<ReplayJob> {
  await requireJob(admin, id);
  await admin.actingAs(operator).controlReplay(id, change);
  return requireJob(admin, id);
}

/** Streams the progress, at most twice a second, until every replayed entry has left its queue. */
async function followReplay({ admin, params }: RouteRequest): Promise<RouteAnswer> {
  const id = params["id"]!;
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
