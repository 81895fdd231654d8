import type { HeldBytesLimit } from "#contract";
import { byteSizeText } from "#contract/schema";
import type { Findings } from "../text/findings.js";
import { nodeAt } from "../text/node.js";
import { callPlugin, pluginCode } from "./call-plugin.js";
import type { LinkedPipeline } from "./link-pipelines.js";
import type { PipelineDefinition } from "./read-service.js";
import type { ComponentDefinition } from "./spec.js";

interface HoldingChecks {
  /** Value of `service.intake.max_bytes`. */
  readonly intakeLimit: number;
  /** True when pipelines with holding processors get a journal by default. */
  readonly keepsJournals: boolean;
  readonly findings: Findings;
}

/** Warns about holding processors that make clients wait, or that may hold more than the intake admits. */
export function checkHolding(
  pipelines: readonly LinkedPipeline[],
  configOf: (processor: ComponentDefinition) => unknown,
  checks: HoldingChecks,
): void {
  const limits = new Map<ComponentDefinition, HeldBytesLimit | undefined>();
  for (const { pipeline, processors } of pipelines) {
    for (const { definition } of processors) {
      const isNew = !limits.has(definition);
      if (isNew) limits.set(definition, heldBytes(definition, configOf(definition), checks.findings));
      const held = limits.get(definition);
      if (held === undefined) continue;
      const isDurable = isDurableIntake(pipeline, checks.keepsJournals);
      if (isNew) checkHeldBytes(definition, held, isDurable, checks);
      if (!isDurable) warnOfWaitingClients(pipeline, definition, held, checks.findings);
    }
  }
}

function isDurableIntake({ durableIntake }: PipelineDefinition, keepsJournals: boolean): boolean {
  return durableIntake === "on" || (durableIntake === "auto" && keepsJournals);
}

function warnOfWaitingClients(
  { id, key, path }: PipelineDefinition,
  processor: ComponentDefinition,
  { waitMs }: HeldBytesLimit,
  findings: Findings,
): void {
  const time = waitMs === undefined ? "" : `, ${waitMs / 1000} s`;
  const message = `clients of pipeline "${id}" wait for an answer while "${processor.id}" holds their data${time}: most of them time out after 10 s and retry`;
  const suggestion = "make the intake durable: intake: {durable: on}";
  findings.warn("clients_wait", key, path, message, { suggestion });
}

/**
 * Compares the limit of a processor with the limit of the intake. At its own limit a processor makes room; at the
 * intake's limit new data waits on disk or is refused. The processor's limit must be lower, otherwise it is never
 * reached.
 */
function checkHeldBytes(
  processor: ComponentDefinition,
  held: HeldBytesLimit,
  isDurable: boolean,
  { intakeLimit, findings }: HoldingChecks,
): void {
  if (held.bytes < intakeLimit) return;
  const { section, name, node, key, id } = processor;
  const limit = `${byteSizeText(intakeLimit)}`;
  const comes = isDurable ? "new data waits on disk" : "clients are refused";
  const scope = isDurable ? "for the data inside a pipeline" : "for the whole agent";
  const message = `"${id}" may hold back ${byteSizeText(held.bytes)}, but service.intake.max_bytes, ${scope}, is ${limit}: ${comes} before "${id}" makes room`;
  const suggestion = `set ${held.path.join(".")} below service.intake.max_bytes, or raise service.intake.max_bytes`;
  const path = [section, name, ...held.path];
  findings.warn("over_intake_limit", nodeAt(node, held.path) ?? key, path, message, { suggestion });
}

/** Undefined for a processor that holds nothing back, and for a plugin whose `maxHeldBytes` fails. */
function heldBytes(processor: ComponentDefinition, config: unknown, findings: Findings): HeldBytesLimit | undefined {
  const { factory } = processor;
  if (config === undefined || factory?.kind !== "processor" || factory.maxHeldBytes === undefined) return undefined;
  const ask = () => {
    const { bytes, path, waitMs } = factory.maxHeldBytes!(config);
    return { bytes, path: [...path], ...(waitMs === undefined ? {} : { waitMs }) };
  };
  return callPlugin(ask, pluginCode("maxHeldBytes", processor, factory, "warning"), findings);
}
