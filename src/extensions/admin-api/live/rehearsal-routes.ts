import { z } from "zod";
import type { RehearsalControl, RehearsalReport, RehearsalStatus } from "#contract/rehearsal";
import type { Clock } from "../../../plugin.js";
import { readBody } from "../body.js";
import { HttpError } from "../http-error.js";
import { operatorFields, operatorOf } from "../operator.js";
import { readParameters } from "../parameters.js";
import type { Actor } from "../roles.js";
import type { ApiRoute, RouteRequest } from "../route.js";

export const MAX_REHEARSAL_SECONDS = 3600;
export const MAX_REHEARSAL_BYTES = 64 * 1024 ** 2;
export const DEFAULT_REHEARSAL_BYTES = 32 * 1024 ** 2;
const MAX_CONDITIONS = 20;

const rehearsalBody = z.strictObject({
  ...operatorFields,
  seconds: z.number().min(1).max(MAX_REHEARSAL_SECONDS).default(60),
  share: z.number().gt(0).max(1).default(0.1),
  max_bytes: z.number().int().min(1).max(MAX_REHEARSAL_BYTES).default(DEFAULT_REHEARSAL_BYTES),
  fail_on: z.array(z.string().max(100)).max(MAX_CONDITIONS).default([]),
});

/** Routes for rehearsals of the agent's own files. Callers cannot give a config: it would be code that the agent runs. */
export const rehearsalRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/config/rehearsal",
    role: "view",
    needs: "nothing",
    answer({ host, query, actor, clock }) {
      readParameters(query, []);
      return { body: shownRehearsal(rehearsalControl(host).current, actor, clock) };
    },
  },
  {
    method: "POST",
    path: "/config/rehearsal",
    role: "configure",
    needs: "nothing",
    async answer({ host, request, actor, clock }) {
      const { by, reason, ...wanted } = await readBody(request, rehearsalBody);
      const operator = operatorOf(request, { by, reason }, actor);
      const { seconds, share, max_bytes: maxBytes, fail_on: failOn } = wanted;
      const started = rehearsalControl(host).start({ seconds, share, maxBytes, failOn, by: operator.actor });
      await host.admin?.actingAs(operator).noteRehearsal?.(wanted);
      return { status: 202, body: shownRehearsal(started, actor, clock) };
    },
  },
  {
    method: "DELETE",
    path: "/config/rehearsal",
    role: "configure",
    needs: "nothing",
    answer({ host, query, actor, clock }) {
      readParameters(query, []);
      const control = rehearsalControl(host);
      control.cancel();
      return { body: shownRehearsal(control.current, actor, clock) };
    },
  },
];

export function rehearsalControl({ rehearsals }: RouteRequest["host"]): RehearsalControl {
  if (rehearsals !== undefined) return rehearsals;
  throw new HttpError("unavailable", "this agent was not started from files: its config cannot be rehearsed");
}

export type ShownRehearsal = RehearsalStatus & { readonly secondsLeft: number };

/** Values of records, even masked, are for those who may tap them. */
export function shownRehearsal(
  status: RehearsalStatus | undefined,
  { roles }: Actor,
  clock: Clock,
): { readonly rehearsal: ShownRehearsal | null } {
  if (status === undefined) return { rehearsal: null };
  const { state, sampleEndsAt, report } = status;
  const secondsLeft = state === "sampling" ? Math.max(0, sampleEndsAt - clock.now()) / 1000 : 0;
  const isHidden = report !== undefined && !roles.has("reveal");
  return { rehearsal: { ...status, secondsLeft, ...(isHidden && { report: withoutValues(report) }) } };
}

function withoutValues(report: RehearsalReport): RehearsalReport {
  return { ...report, fields: report.fields.map((each) => ({ ...each, examples: [] })), examples: [] };
}
