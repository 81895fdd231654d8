import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { filter } from "../../../../src/processors/filter/component.js";
import { transform } from "../../../../src/processors/transform/component.js";
import { CONFIG_DIFFERENCES } from "../../../../src/runtime/ottl/compile/config-differences.js";
import { RECORD_CONTEXTS } from "../../../../src/runtime/ottl/paths/context.js";
import { owed } from "../../../support/deliveries.js";
import { processing } from "../../../support/processors.js";
import { batchFor } from "../../../support/telemetry/ottl.js";

describe("what the page of functions says of configs that differ from the Collector's", () => {
  it.each(CONFIG_DIFFERENCES.map((difference) => [difference.config, difference] as const))(
    "%s",
    (config, difference) => {
      const { component, here, signal } = difference;
      const kept = () => {
        const { source, out } = processing({ filter, transform }[component], parse(config), signal);
        source.next(owed(batchFor(RECORD_CONTEXTS[signal])).delivery);
        return out.length;
      };
      if (typeof here === "object") expect(kept).toThrow(here.refused);
      else expect(kept()).toBe(here === "kept" ? 1 : 0);
    },
  );
});
