import { expect, it } from "vitest";
import { SpanDraft } from "../../../../src/receivers/otlp/jaeger/span-draft.js";
import { TagList } from "../../../../src/receivers/otlp/jaeger/tag-list.js";
import { beginProcess, endProcess, JaegerBatchWriter } from "../../../../src/receivers/otlp/jaeger/write-otlp.js";
import { liveHeap } from "../../../support/live-heap.js";

it("holds little of each process, as there may be as many as spans", () => {
  const count = 5000;
  const bytes = Buffer.from("shop");
  const [span, tags] = [new SpanDraft(), new TagList()];
  const live = () => liveHeap() + process.memoryUsage().arrayBuffers;
  const before = live();
  const writer = new JaegerBatchWriter(bytes);
  for (let i = 0; i < count; i++) {
    beginProcess(tags, bytes);
    writer.addProcess(`${i}`, endProcess(tags, bytes, 0, bytes.length));
    span.clear(bytes);
    span.process = `${i}`;
    writer.add(span);
  }
  expect((live() - before) / count).toBeLessThan(2000);
  expect(writer.finish(new Uint8Array(0)).count).toBe(count);
});
