import { describe, expect, it } from "vitest";
import { compileCondition } from "../../../../src/runtime/ottl/compile/compile.js";
import { DIFFERENCES } from "../../../../src/runtime/ottl/compile/differences.js";
import { anyMatches } from "../../../../src/runtime/ottl/compile/run.js";
import { edited, evaluate } from "../../../support/telemetry/ottl.js";

describe("what the page of functions says of differences to the Collector", () => {
  it.each(DIFFERENCES.map((difference) => [difference.example, difference] as const))("%s", (example, difference) => {
    const { context = "log", here, isCondition, after = [] } = difference;
    const answer = () => {
      const batch = edited(after, context);
      return isCondition ? anyMatches(batch, [compileCondition(example, context)]) : evaluate(example, context, batch);
    };
    if ("gives" in here) expect(answer()).toEqual(here.gives);
    else if ("refused" in here) expect(answer).toThrow(here.refused);
    else expect(answer).toThrow(here.fails);
  });
});
