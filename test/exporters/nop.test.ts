import { expect, test } from "vitest";
import { nopExporter } from "../../src/exporters/nop.js";
import { Batch } from "../../src/plugin.js";
import { exporterContext, never } from "./support.js";

test("accepts everything", async () => {
  const exporter = nopExporter.create(nopExporter.schema.parse({}), exporterContext());
  await expect(exporter.send(Batch.empty("traces"), never)).resolves.toBeUndefined();
});
