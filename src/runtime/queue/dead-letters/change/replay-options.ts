import {
  AdminError,
  type DeadLetterLanguage,
  type ReplayOptions,
  type Selection,
  type Transform,
} from "#contract/operations";
import { type Controls, controlOf } from "../dead-letters.js";
import { hasQueue, type QueueControl } from "../exporter-control.js";
import type { PlannedOptions } from "./replay-chunk.js";

const MAX_SAMPLES = 10;
const MAX_STATEMENTS = 100;

/**
 * Validates the options of a replay and resolves the names in them. Throws an `AdminError` if they are invalid. No
 * entry is read.
 */
export function plannedOptions(
  controls: Controls,
  selection: Selection,
  options: ReplayOptions,
  language: DeadLetterLanguage,
): PlannedOptions {
  const { to, transform, samples, ...others } = options;
  if (samples !== undefined && !(Number.isInteger(samples) && samples >= 0 && samples <= MAX_SAMPLES))
    throw new AdminError("bad_request", `samples must be a number from 0 to ${MAX_SAMPLES}`);
  if (samples !== undefined && !options.dryRun) throw new AdminError("bad_request", "samples need dryRun");
  return {
    ...others,
    samples,
    ...(to !== undefined && { to: destination(controls, to, options) }),
    ...(transform !== undefined && { transform, transformation: transformation(transform, selection, language) }),
  };
}

function destination(controls: Controls, to: string, { pipeline }: ReplayOptions): QueueControl {
  const control = controlOf(controls, to);
  if (!hasQueue(control))
    throw new AdminError("bad_request", `${to} has no queue (sending_queue.enabled): nothing can be put into it`);
  if (control.pipelines === undefined)
    throw new AdminError("bad_request", `to: ${to} is not an exporter of a running agent: start the agent first`);
  if (pipeline === false)
    throw new AdminError(
      "bad_request",
      "data for another exporter passes its replay steps: it cannot be sent unchanged",
    );
  return control;
}

function transformation(statements: readonly string[], selection: Selection, language: DeadLetterLanguage): Transform {
  if (statements.length === 0) throw new AdminError("bad_request", "transform: there is no statement");
  if (statements.length > MAX_STATEMENTS)
    throw new AdminError("bad_request", `transform: more than ${MAX_STATEMENTS} statements were given`);
  const signal = "query" in selection ? selection.query.signal : undefined;
  return language.compileTransform(statements, signal && [signal]);
}
