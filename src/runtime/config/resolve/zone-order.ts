import { ZONES, type Zone } from "#contract";
import type { Findings } from "../text/findings.js";
import type { Link, LinkedPipeline } from "./link-pipelines.js";

/** A component with a zone, and its place in the path of the data. */
interface ZoneStop {
  readonly zone: Zone;
  readonly link: Link;
  readonly pipeline: LinkedPipeline;
}

/**
 * Checks that processors are in the order of their zones: validate, pii, rate_limit, sampling, versioning, routing. A
 * pipeline fed by a connector continues the order of the pipeline before it, unless the connector changes the signal. A
 * processor behind one of a later zone gives a warning, or an error if the order is strict.
 *
 * In `ordered`, each pipeline must come after those that feed it.
 */
export function checkZoneOrder(ordered: readonly LinkedPipeline[], isStrict: boolean, findings: Findings): void {
  /** For each pipeline the stop with the latest zone that its data has passed. */
  const ends = new Map<LinkedPipeline, ZoneStop | undefined>();
  for (const pipeline of ordered) {
    let latest = latestOf(
      ordered.filter((other) => ends.has(other)).flatMap((other) => stopsBefore(other, pipeline, ends)),
    );
    for (const link of pipeline.processors) {
      const stop = stopAt(link, pipeline);
      if (stop === undefined) continue;
      if (latest !== undefined && rank(stop) < rank(latest)) report(stop, latest, isStrict, findings);
      latest = latestOf([latest, stop]);
    }
    ends.set(pipeline, latest);
  }
}

/**
 * The stops that data has passed when it gets from one pipeline to another: those of the first, and the connectors in
 * between.
 */
function stopsBefore(
  from: LinkedPipeline,
  to: LinkedPipeline,
  ends: ReadonlyMap<LinkedPipeline, ZoneStop | undefined>,
): (ZoneStop | undefined)[] {
  if (from.pipeline.signal !== to.pipeline.signal) return [];
  const between = from.exporters.filter((exit) => to.receivers.some((entry) => entry.definition === exit.definition));
  return between.length === 0 ? [] : [ends.get(from), ...between.map((link) => stopAt(link, from))];
}

function stopAt(link: Link, pipeline: LinkedPipeline): ZoneStop | undefined {
  const { factory } = link.definition;
  const zone = factory?.kind === "processor" || factory?.kind === "connector" ? factory.zone : undefined;
  return zone === undefined ? undefined : { zone, link, pipeline };
}

function rank({ zone }: ZoneStop): number {
  return ZONES.indexOf(zone);
}

/** The stop with the latest zone; the first one if several have it. */
function latestOf(stops: readonly (ZoneStop | undefined)[]): ZoneStop | undefined {
  return stops.reduce((a, b) => (a === undefined || (b !== undefined && rank(b) > rank(a)) ? b : a), undefined);
}

function report(stop: ZoneStop, earlier: ZoneStop, isStrict: boolean, findings: Findings): void {
  const { reference } = stop.link;
  const id = `"${reference.id}"`;
  const other = `"${earlier.link.reference.id}"`;
  const isInOtherPipeline = earlier.pipeline !== stop.pipeline;
  const where = isInOtherPipeline ? ` in pipeline "${earlier.pipeline.pipeline.id}", which feeds this one` : "";
  const message = `${id} comes after ${other}${where}: ${REASONS[stop.zone]}`;
  const suggestion = isInOtherPipeline
    ? `put ${id} into pipeline "${earlier.pipeline.pipeline.id}", before ${other}`
    : `put ${id} before ${other}`;
  const extra = { suggestion: `${suggestion}; the order is ${ZONES.join(", ")}` };
  if (isStrict) findings.error("zone_order", reference.span, reference.path, message, extra);
  else findings.warn("zone_order", reference.span, reference.path, message, extra);
}

/** Says what goes wrong when a component of this zone comes too late. */
const REASONS: Readonly<Record<Zone, string>> = {
  validate: "invalid data has been processed, and perhaps kept as a dead letter, before it is detected",
  pii: "data that is dead-lettered or sent elsewhere there is still untreated",
  rate_limit: "records over the limit are first sampled, updated or routed",
  sampling: "records are first updated or routed and then dropped",
  versioning: "routed records still have their old names and versions",
  routing: "",
};
