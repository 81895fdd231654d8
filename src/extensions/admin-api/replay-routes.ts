import { z } from "zod";
import { AdminError } from "../../runtime/kit.js";
import { readBody } from "./body.js";
import { actorName } from "./operator.js";
import type { ReplayJob } from "./replay-jobs.js";
import type { ApiRoute } from "./route.js";
import { readSelection, selectionFields } from "./selection-body.js";

const replayBody = z.strictObject({
  ...selectionFields,
  by: z.string({ error: "say who replays" }),
  rate: z.number().optional(),
  approved: z.boolean().optional(),
  generation: z.string().optional(),
  pipeline: z.string().or(z.literal(false)).optional(),
});

export const replayRoutes: readonly ApiRoute[] = [
  {
    method: "POST",
    path: "/dead-letters/replay",
    role: "replay",
    async answer({ admin, jobs, request, actor }) {
      const body = await readBody(request, replayBody);
      const { by, rate, generation, pipeline, approved = false, dry_run: dryRun = false, ...selected } = body;
      const given = {
        ...(rate !== undefined && { rate }),
        ...(generation !== undefined && { generation }),
        ...(pipeline !== undefined && { pipeline }),
      };
      const options = { by: actorName(by, actor), approved, dryRun, ...given };
      const job = await jobs.start(admin, readSelection(selected), options);
      return { status: job.state === "running" ? 202 : 200, body: job };
    },
  },
  { method: "GET", path: "/replays", role: "view", answer: ({ jobs }) => ({ body: { replays: jobs.all() } }) },
  {
    method: "GET",
    path: "/replays/:job",
    role: "view",
    answer: ({ jobs, params }) => ({ body: requireJob(jobs.get(params["job"]!)) }),
  },
  {
    method: "DELETE",
    path: "/replays/:job",
    role: "replay",
    answer: ({ jobs, params }) => ({ body: requireJob(jobs.cancel(params["job"]!)) }),
  },
];

function requireJob(job: ReplayJob | undefined): ReplayJob {
  if (job === undefined) throw new AdminError("not_found", "there is no such replay; the last 100 are remembered");
  return job;
}
