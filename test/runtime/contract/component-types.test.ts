import { readFileSync } from "node:fs";
import { filter } from "rxjs";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import {
  type AnyRecordView,
  type DataPointView,
  defineProcessor,
  eachBatch,
  eachRecord,
  type LogRecordView,
  type Processor,
  type SpanView,
} from "../../../src/plugin.js";

/** The type checker is the test here: `npm run check` reads this file. */
describe("the record that eachRecord shows", () => {
  it("is of the signal of the processor", () => {
    const type = "mine";
    const made = [
      defineProcessor({
        type,
        signals: ["logs"],
        create: (_config) =>
          eachRecord((record) => {
            expectTypeOf(record).toEqualTypeOf<LogRecordView>();
            return record.severityNumber < 9 ? "drop" : "keep";
          }),
      }),
      defineProcessor({
        type,
        signals: ["traces"],
        schema: z.object({ limit: z.number() }),
        create({ limit }, { signal }) {
          expectTypeOf(limit).toEqualTypeOf<number>();
          expectTypeOf(signal).toEqualTypeOf<"logs" | "traces" | "metrics">();
          return eachRecord((record) => {
            expectTypeOf(record).toEqualTypeOf<SpanView>();
          });
        },
      }),
      defineProcessor({
        type,
        signals: ["metrics"],
        create: (_config) => eachRecord(async (record) => void expectTypeOf(record).toEqualTypeOf<DataPointView>()),
      }),
      defineProcessor({
        type,
        signals: ["logs", "traces"],
        create: (_config) =>
          eachRecord((record) => {
            expectTypeOf(record).toEqualTypeOf<LogRecordView | SpanView>();
            if (record.signal === "logs") void record.severityNumber;
          }),
      }),
    ];
    expect(made.map(({ signals }) => signals)).toEqual([["logs"], ["traces"], ["metrics"], ["logs", "traces"]]);
  });

  it("is any record where no signals are named", () => {
    defineProcessor({
      type: "mine",
      create: (_config) =>
        eachRecord((record) => {
          expectTypeOf(record).toEqualTypeOf<AnyRecordView>();
          // @ts-expect-error only log records have one
          void record.severityNumber;
        }),
    });
    eachRecord((record) => void expectTypeOf(record).toEqualTypeOf<AnyRecordView>());
  });

  it("may be named, if it is one of the processor's signals", () => {
    defineProcessor({ type: "mine", create: () => eachRecord((record: LogRecordView) => void record.severityText) });
    defineProcessor({ type: "mine", signals: ["logs"], create: () => eachRecord((_record: LogRecordView) => {}) });
    // @ts-expect-error a processor of metrics sees no log records
    defineProcessor({ type: "mine", signals: ["metrics"], create: () => eachRecord((_record: LogRecordView) => {}) });
    // @ts-expect-error there is no such signal
    defineProcessor({ type: "mine", signals: ["metrix"], create: () => eachBatch((batch) => batch) });
  });

  it("leaves other processors as they are", () => {
    const any: Processor = filter(() => true);
    defineProcessor({ type: "mine", signals: ["logs"], create: () => any });
    defineProcessor({ type: "mine", signals: ["logs"], create: () => (source) => source });
    defineProcessor({ type: "mine", signals: ["logs"], create: () => eachBatch((batch) => batch) });
    defineProcessor<{ key: string }>({
      type: "mine",
      signals: ["logs"],
      create: ({ key }) => (key === "" ? any : any),
    });
  });
});

describe("the contract of components", () => {
  it("has nothing that only built-in components may use: that is in built-in/component.ts", () => {
    const contract = new URL("../../../src/runtime/contract/component.ts", import.meta.url);
    expect(readFileSync(contract, "utf8")).not.toContain("@internal");
  });
});
