import { z } from "zod";
import type { LastRehearsal } from "#contract/api";
import type { RehearsalControl, RehearsalReport, RehearsalStatus } from "#contract/rehearsal";
import type { Clock } from "../../../plugin.js";
import { HttpError } from "../http-error.js";
import { type Actor, operatorFields } from "../operator.js";
import { type ApiRoute, type RouteRequest, route, view } from "../route.js";

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
  view("GET /config/rehearsal", { needs: "nothing", query: [] }, ({ host, actor, clock }) => ({
    body: shownRehearsal(rehearsalControl(host).current, actor, clock),
  })),
  route(
    { at: "POST /config/rehearsal", role: "configure" },
    { needs: "nothing", takes: rehearsalBody },
    async ({ host, actor, clock, body, operator: operatorOf }) => {
      const { by, reason, ...wanted } = await body();
      const operator = operatorOf({ by, reason });
      const { seconds, share, max_bytes: maxBytes, fail_on: failOn } = wanted;
      const started = rehearsalControl(host).start({ seconds, share, maxBytes, failOn, by: operator.actor });
      await host.admin?.actingAs(operator).noteRehearsal?.(wanted);
      return { status: 202, body: shownRehearsal(started, actor, clock) };
    },
  ),
  route(
    { at: "DELETE /config/rehearsal", role: "configure" },
    { needs: "nothing", query: [] },
    ({ host, actor, clock }) => {
      const control = rehearsalControl(host);
      control.cancel();
      return { body: shownRehearsal(control.current, actor, clock) };
    },
  ),
];

export function rehearsalControl({ rehearsals }: RouteRequest["host"]): RehearsalControl {
  if (rehearsals !== undefined) return rehearsals;
  throw new HttpError("unavailable", "this agent was not started from files: its config cannot be rehearsed");
}

/** Values of records, even masked, are for those who may tap them. */
export function shownRehearsal(status: RehearsalStatus | undefined, { roles }: Actor, clock: Clock): LastRehearsal {
  if (status === undefined) return { rehearsal: null };
  const { state, sampleEndsAt, report } = status;
  const secondsLeft = state === "sampling" ? Math.max(0, sampleEndsAt - clock.now()) / 1000 : 0;
  const isHidden = report !== undefined && !roles.has("reveal");
  return { rehearsal: { ...status, secondsLeft, ...(isHidden && { report: withoutValues(report) }) } };
}

function withoutValues(report: RehearsalReport): RehearsalReport {
  return { ...report, fields: report.fields.map((each) => ({ ...each, examples: [] })), examples: [] };
}
