import { expect, it } from "vitest";
import { StreamLabels } from "../../../src/exporters/loki/stream-labels.js";
import { liveHeap } from "../../support/live-heap.js";

it("keeps no labels that are longer than any stream has", () => {
  const settings = { exporter: false, job: false, instance: false, level: false };
  const labels = new StreamLabels({ ...settings, attributes: [["id", "id"]], resource: [] });
  const before = liveHeap();
  for (let i = 0; i < 500; i++) {
    const id = `${i}`.padEnd(100_000, "x");
    expect(labels.of({ id }, {}, 0).text).toBe(`{id="${id}"}`);
  }
  expect(liveHeap() - before).toBeLessThan(20_000_000);
  expect(labels.of({ id: "a" }, {}, 0).text).toBe('{id="a"}');
});
