import { z } from "zod";
import type { ComponentContext } from "#contract";
import { noMetrics, silentLogger } from "#contract";
import { alternatives } from "#contract/schema";
import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import { type ContextName, SIGNAL_CONTEXTS } from "../paths/context.js";
import { isOttlSyntaxError, OttlSyntaxError } from "../values/error.js";
import { ottlIssue } from "./config-texts.js";
import { ERROR_MODES, type ErrorMode, errorHandler } from "./error-mode.js";
import { type CompiledGroup, compileIn, compileInferred } from "./infer-context.js";
import { anyMatches, dropWhere, keepWhere, type OnOttlError, transformBatch } from "./run.js";

/** The context of conditions and statements, and how their failures are handled. */
export interface OttlOptions {
  /**
   * The context of a path without one in front: `log`, `span`, `spanevent`, `metric`, `datapoint`, `scope` or
   * `resource`. If absent, it is inferred from the paths; a text in which `attributes` may mean several things does not
   * compile.
   */
  readonly context?: ContextName;
  /**
   * `propagate`, the default: the `OttlError` is thrown, and the batch stays as it was. `ignore`: the error is counted
   * and logged, at most every ten seconds, and work continues as if the text had not matched. `silent`: the same
   * without the log.
   */
  readonly errorMode?: ErrorMode;
  /** The context passed to `create`: its logger and metrics report failures. Required for `ignore`. */
  readonly component?: Pick<ComponentContext, "logger" | "metrics" | "clock">;
}

/**
 * Conditions of one signal. It is enough if one of them holds. They read bytes in place and keep no state, so one
 * instance serves all batches. A batch of another signal is a TypeError.
 */
export interface OttlConditions {
  /** The context: records, or a message around them, such as the resource. */
  readonly context: ContextName;
  /** Whether a condition holds for anything in the batch. */
  any(batch: Batch): boolean;
  /**
   * The batch with only the items that a condition holds for: the same batch if that is all, an empty one if it is
   * nothing.
   */
  keep(batch: Batch): Batch;
  /**
   * The batch without the items that a condition holds for: the same batch if that is nothing, an empty one if it is
   * all.
   */
  drop(batch: Batch): Batch;
}

/** Statements of one signal, executed in order on each record. A batch of another signal is a TypeError. */
export interface OttlStatements {
  /** The context: records, or a message around them, such as the resource. */
  readonly context: ContextName;
  /** Returns the edited batch, or the same one if nothing changed. The given batch stays as it is. */
  apply(batch: Batch): Batch;
}

/**
 * Compiles one or more conditions for a signal. Throws an `OttlSyntaxError` whose message points at the place in the
 * text. Call it in `create`, or in the schema with `ottlText`, so mistakes are found before anything starts.
 *
 * @example
 * const noise = compileConditions("logs", 'log.attributes["http.route"] == "/health"');
 * const processor = eachBatch((batch) => {
 *   const rest = noise.drop(batch);
 *   return rest.count === 0 ? null : rest;
 * });
 */
export function compileConditions(
  signal: Signal,
  texts: string | readonly string[],
  options: OttlOptions = {},
): OttlConditions {
  const { context, conditions } = compileTexts(signal, "conditions", texts, options);
  const onError = failureHandler(options);
  return {
    context,
    any: (batch) => anyMatches(batchOf(signal, batch), conditions, onError),
    keep: (batch) => keepWhere(batchOf(signal, batch), conditions, onError),
    drop: (batch) => dropWhere(batchOf(signal, batch), conditions, onError),
  };
}

/**
 * Compiles one or more statements for a signal; all of them share one context. Throws an `OttlSyntaxError` as
 * `compileConditions` does.
 *
 * @example
 * const tidy = compileStatements("logs", ['set(log.severity_text, "WARN") where log.severity_number == 13']);
 * const processor = eachBatch((batch) => tidy.apply(batch));
 */
export function compileStatements(
  signal: Signal,
  texts: string | readonly string[],
  options: OttlOptions = {},
): OttlStatements {
  const { context, statements } = compileTexts(signal, "statements", texts, options);
  const onError = failureHandler(options);
  return { context, apply: (batch) => transformBatch(batchOf(signal, batch), statements, [], onError) };
}

/**
 * A text in a config that `compile` must be able to compile; the value stays text. A text that does not compile is a
 * config problem, shown at its line and column.
 *
 * @example
 * const schema = z.strictObject({ when: ottlText((text) => compileConditions("logs", text)) });
 */
export function ottlText(compile: (text: string) => unknown) {
  return z
    .string()
    .superRefine((text, context) => {
      try {
        compile(text);
      } catch (error) {
        context.addIssue(ottlIssue(error, []));
      }
    })
    .meta({ format: "ottl" });
}

function compileTexts(
  signal: Signal,
  list: "statements" | "conditions",
  given: string | readonly string[],
  { context }: OttlOptions,
): CompiledGroup {
  const texts = typeof given === "string" ? [given] : given;
  if (!texts.every((text) => typeof text === "string")) throw new TypeError(`${list} must be texts`);
  checkContextOf(signal, context);
  const lists = [list === "statements" ? texts : [], list === "conditions" ? texts : []] as const;
  const group = context === undefined ? compileInferred(signal, ...lists) : compileIn(context, ...lists);
  if ("context" in group) return group;
  throw isOttlSyntaxError(group.error) ? withText(group.error, texts[group.index]!) : group.error;
}

function withText({ reason, offset, length, suggestion }: OttlSyntaxError, text: string): OttlSyntaxError {
  return new OttlSyntaxError(reason, offset, length, suggestion, text);
}

function checkContextOf(signal: Signal, context: ContextName | undefined): void {
  const known = SIGNAL_CONTEXTS[signal];
  if (known === undefined) throw new TypeError(`there is no signal "${signal}": expected logs, traces or metrics`);
  if (context === undefined || known.includes(context)) return;
  throw new TypeError(`${signal} have no context "${context}": expected ${alternatives(known)}`);
}

/** A failure that is to be logged needs a logger. */
function failureHandler({ errorMode = "propagate", component }: OttlOptions): OnOttlError | undefined {
  if (!ERROR_MODES.includes(errorMode)) {
    throw new TypeError(`there is no errorMode "${errorMode}": expected ${alternatives(ERROR_MODES)}`);
  }
  if (errorMode === "ignore" && component === undefined) {
    throw new TypeError('errorMode "ignore" logs failures: pass the context of create as component');
  }
  return errorHandler(errorMode, component ?? NO_COMPONENT);
}

const NO_COMPONENT = { logger: silentLogger, metrics: noMetrics, clock: { monotonic: () => 0 } };

function batchOf(signal: Signal, batch: Batch): Batch {
  if (batch.signal === signal) return batch;
  throw new TypeError(`compiled for ${signal}, and given a batch of ${batch.signal}`);
}
