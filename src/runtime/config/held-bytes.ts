import type { HeldBytesLimit } from "../contract/component.js";
import type { ComponentDefinition } from "./components.js";
import { byteSizeText } from "./duration-text.js";
import type { Findings } from "./findings.js";
import { nodeAt } from "./node.js";

/**
 * Holds what a processor may keep unanswered against what the agent takes: at its own limit a processor makes room, at
 * the agent's clients are refused. So a limit that is not below the agent's is never reached.
 */
export function checkHeldBytes(
  processor: ComponentDefinition,
  config: unknown,
  intakeLimit: number,
  findings: Findings,
): void {
  const { section, name, node, key } = processor;
  const held = heldBytes(processor, config);
  if (held === undefined || held.bytes < intakeLimit) return;
  const message = `"${processor.id}" may hold back ${byteSizeText(held.bytes)}, but service.intake.max_bytes, for the whole agent, is ${byteSizeText(intakeLimit)}: clients are refused before "${processor.id}" makes room`;
  const suggestion = `set ${held.path.join(".")} below service.intake.max_bytes, or raise that`;
  const path = [section, name, ...held.path];
  findings.warn("over_intake_limit", nodeAt(node, held.path) ?? key, path, message, { suggestion });
}

/** A plugin that cannot say it has no limit of which to warn. */
function heldBytes({ factory }: ComponentDefinition, config: unknown): HeldBytesLimit | undefined {
  try {
    return factory?.kind === "processor" ? factory.maxHeldBytes?.(config) : undefined;
  } catch {
    return undefined;
  }
}
