import { expect, it } from "vitest";
import { grokPattern } from "../../../../../src/runtime/ottl/functions/text/grok.js";
import { GROK_FIREWALL_PATTERNS } from "../../../../../src/runtime/ottl/functions/text/grok-firewall-patterns.js";
import { GROK_LOG_PATTERNS } from "../../../../../src/runtime/ottl/functions/text/grok-log-patterns.js";
import { GROK_PATTERNS } from "../../../../../src/runtime/ottl/functions/text/grok-patterns.js";
import { GROK_SERVICE_PATTERNS } from "../../../../../src/runtime/ottl/functions/text/grok-service-patterns.js";

it("has no pattern that cannot be compiled", () => {
  const all = { ...GROK_PATTERNS, ...GROK_LOG_PATTERNS, ...GROK_FIREWALL_PATTERNS, ...GROK_SERVICE_PATTERNS };
  for (const name of Object.keys(all)) expect(() => grokPattern(`%{${name}:x}`, true, []), name).not.toThrow();
  expect(Object.keys(all).length).toBeGreaterThanOrEqual(245);
});
