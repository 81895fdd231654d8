import { describe, expect, it } from "vitest";
import { describeKeys, type KeyDescription } from "../../../../src/runtime/config/schema/describe-keys.js";
import { pipelineIntakeSchema, serviceSchema } from "../../../../src/runtime/config/schema/service-schema.js";
import { uncheckedExporterSettingsSchema } from "../../../../src/runtime/contract/schema/exporter-settings.js";
import { builtins } from "../../../support/builtins.js";

/** Returns the keys that lack a description. Keys that have no effect, or that another key replaces, need none. */
function undescribed(keys: readonly KeyDescription[]): string[] {
  return keys
    .filter(({ description, ignored, deprecated }) => !description && ignored === undefined && deprecated === undefined)
    .map(({ path }) => path);
}

describe("every key is described", () => {
  it.each(builtins.map((factory) => [`${factory.kind} ${factory.type}`, factory.schema] as const))(
    "of %s",
    (_, schema) => {
      expect(undescribed(describeKeys(schema))).toEqual([]);
    },
  );

  it.each([
    ["all exporters", uncheckedExporterSettingsSchema],
    ["service", serviceSchema],
    ["a pipeline's intake", pipelineIntakeSchema],
  ])("of %s", (_, schema) => {
    expect(undescribed(describeKeys(schema))).toEqual([]);
  });

  it("says of a key that is not supported what to do instead", () => {
    const health = builtins.find(({ kind, type }) => kind === "extension" && type === "health_check")!;
    const tpm = describeKeys(health.schema).find(({ path }) => path === "tls.tpm");
    expect(tpm?.description).toMatch(/^Not supported: .*use key_file/);
  });
});
