import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { fileLogSchema } from "../../../src/receivers/file-log/config.js";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { until } from "../../support/until.js";
import { LogFiles } from "./harness.js";

const header = {
  pattern: "^#",
  metadata_operators: [{ type: "regex_parser", regex: "^#(?P<key>\\w+): (?P<value>.*)", if: 'body contains ":"' }],
};

describe("the header of a file", () => {
  it("becomes attributes of all of its records, also after a restart", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), "#system: shop\n# a remark\nfirst\n");
    await files.start({ header });
    await until(() => expect(files.bodies).toEqual(["first"]));
    await files.stop();
    appendFileSync(files.path("a.log"), "#second\n");
    await files.start({ header });
    await until(() => expect(files.bodies).toEqual(["first", "#second"]));
    for (const { attributes } of files.records) expect(attributes).toMatchObject({ key: "system", value: "shop" });
  });

  it("is complete when the first record is", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), "#system: sh");
    await files.start({ header, force_flush_period: "10ms" });
    await new Promise((resolve) => setTimeout(resolve, 60));
    appendFileSync(files.path("a.log"), "op\nfirst\n");
    await until(() => expect(files.bodies).toEqual(["first"]));
    expect(files.records[0]!.attributes).toMatchObject({ value: "shop" });
  });

  it("is read from compressed files and with operators too", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), gzipSync("#system: shop\nfirst\nsecond\n"));
    const operators = [{ type: "add", field: "attributes.extra", value: "x" }];
    await files.start({ header, operators, compression: "gzip" });
    await until(() => expect(files.bodies).toEqual(["first", "second"]));
    expect(files.records[1]!.attributes).toMatchObject({ value: "shop", extra: "x" });
  });
});

describe("delete_after_read", () => {
  it("deletes a file when all of its records are safe, and not before", async () => {
    const files = new LogFiles();
    let settle = () => {};
    files.intake.answer = () => new Promise((resolve) => (settle = () => resolve(ACCEPTED)));
    writeFileSync(files.path("a.log"), "first\nlast");
    await files.start({ delete_after_read: true, force_flush_period: "20ms" });
    await until(() => expect(files.bodies).toEqual(["first"]));
    settle();
    await until(() => expect(files.bodies).toEqual(["first", "last"]));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(existsSync(files.path("a.log"))).toBe(true);
    settle();
    await until(() => expect(existsSync(files.path("a.log"))).toBe(false));
  });

  it("needs start_at: beginning, as a header does", () => {
    const problems = (config: object) =>
      fileLogSchema.safeParse({ include: ["a.log"], ...config }).error?.issues.map(({ path }) => path.join("."));
    expect(problems({ delete_after_read: true, header })).toEqual(["header", "delete_after_read"]);
    expect(problems({ delete_after_read: true, header, start_at: "beginning" })).toBe(undefined);
  });
});
