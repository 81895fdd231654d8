import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { Batch, batchToJson, Refusal } from "../../../src/plugin.js";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { until } from "../../support/until.js";
import { keepingLogger, LogFiles } from "./harness.js";

describe("the file_log receiver", () => {
  it("makes a record of every line, and says which file it is from", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), "one\r\n\n  two \nthr");
    await files.start({ include_file_path: true, attributes: { env: "test" }, resource: { "service.name": "shop" } });
    await until(() => expect(files.bodies).toEqual(["one", "two"]));
    appendFileSync(files.path("a.log"), "ee\n");
    await until(() => expect(files.bodies).toEqual(["one", "two", "three"]));
    expect(files.records[0]).toMatchObject({
      body: "one",
      attributes: { "log.file.name": "a.log", "log.file.path": files.path("a.log"), env: "test" },
      resource: { "service.name": "shop" },
    });
  });

  it("writes what a check of OTLP takes", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), `${"x".repeat(200)}\n`.repeat(300));
    await files.start();
    await until(() => expect(files.bodies).toHaveLength(300));
    const [batch] = files.intake.batches;
    expect(Batch.admit("logs", batch!.bytes).count).toBe(300);
    expect(batchToJson(batch!).toString()).toContain("observedTimeUnixNano");
  });

  it("begins at the end of files that are there at first, and at the beginning of others", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("old.log"), "before\n");
    await files.start({ start_at: "end" });
    appendFileSync(files.path("old.log"), "after\n");
    writeFileSync(files.path("new.log"), "first\n");
    await until(() => expect(files.bodies.toSorted()).toEqual(["after", "first"]));
  });

  it("goes on where it was after a restart, and reads from the beginning what appeared meanwhile", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), "never wanted\n");
    await files.start({ start_at: "end" });
    appendFileSync(files.path("a.log"), "one\n");
    await until(() => expect(files.bodies).toEqual(["one"]));
    await files.stop();
    appendFileSync(files.path("a.log"), "two\n");
    writeFileSync(files.path("b.log"), "three\n");
    await files.start({ start_at: "end" });
    await until(() => expect(files.bodies.toSorted()).toEqual(["one", "three", "two"]));
  });

  it("moves an offset only when the data is safe", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), "one\n");
    let accept = () => {};
    files.intake.answer = () => new Promise((resolve) => (accept = () => resolve(ACCEPTED)));
    await files.start();
    await until(() => expect(files.bodies).toEqual(["one"]));
    const offsets = () => readFileSync(files.path("offsets/file_log.offsets"), "utf8");
    await until(() => expect(offsets()).toContain("a.log"));
    expect(offsets()).not.toContain('"o":4');
    accept();
    await until(() => expect(offsets()).toContain('"o":4'));
  });

  it("retries temporarily refused data, and hands in permanently refused data as a dead letter", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), "one\n");
    const answers = [new Refusal("transient", "not now"), new Refusal("permanent", "never")];
    files.intake.answer = () => {
      const refusal = answers.shift();
      return refusal === undefined ? ACCEPTED : { ok: false, refusal };
    };
    await files.start();
    await until(() => expect(files.intake.setbacks).toHaveLength(1));
    expect(files.bodies).toEqual(["one", "one", "one"]);
    appendFileSync(files.path("a.log"), "two\n");
    await until(() => expect(files.bodies.at(-1)).toBe("two"));
  });

  it("reads on less and less while nothing is taken, and on again when it is", async () => {
    const files = new LogFiles();
    const line = `${"x".repeat(9_999)}\n`;
    writeFileSync(files.path("a.log"), line.repeat(2000));
    const accepts: (() => void)[] = [];
    files.intake.answer = () => new Promise((resolve) => accepts.push(() => resolve(ACCEPTED)));
    await files.start();
    await until(() => expect(accepts).toHaveLength(8));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(accepts).toHaveLength(8);
    files.intake.answer = () => ACCEPTED;
    for (const accept of accepts) accept();
    await until(() => expect(files.bodies).toHaveLength(2000));
  });
});

describe("rotation", () => {
  for (const include of ["*.log", "*.log*"]) {
    it(`reads a file on that was moved, and its successor (${include})`, async () => {
      const files = new LogFiles();
      writeFileSync(files.path("a.log"), "one\n");
      await files.start({ include: [files.path(include)] });
      await until(() => expect(files.bodies).toEqual(["one"]));
      renameSync(files.path("a.log"), files.path("a.log.1"));
      appendFileSync(files.path("a.log.1"), "two\n");
      writeFileSync(files.path("a.log"), "three\n");
      await until(() => expect(files.bodies.toSorted()).toEqual(["one", "three", "two"]));
    });

    it(`reads the rest of a file that was copied and emptied (${include})`, async () => {
      const files = new LogFiles();
      writeFileSync(files.path("a.log"), "one\n");
      await files.start({ include: [files.path(include)], poll_interval: "50ms" });
      await until(() => expect(files.bodies).toEqual(["one"]));
      appendFileSync(files.path("a.log"), "two\n");
      copyFileSync(files.path("a.log"), files.path("a.log.1"));
      truncateSync(files.path("a.log"));
      appendFileSync(files.path("a.log"), "three\n");
      await until(() => expect(files.bodies.toSorted()).toEqual(["one", "three", "two"]));
    });

    it(`finds what was moved or copied while it was down (${include})`, async () => {
      const files = new LogFiles();
      const config = { include: [files.path(include)] };
      writeFileSync(files.path("a.log"), "a1\n");
      writeFileSync(files.path("b.log"), "b1\n");
      await files.start(config);
      await until(() => expect(files.bodies.toSorted()).toEqual(["a1", "b1"]));
      await files.stop();
      appendFileSync(files.path("a.log"), "a2\n");
      renameSync(files.path("a.log"), files.path("a.log.1"));
      writeFileSync(files.path("a.log"), "a3\n");
      appendFileSync(files.path("b.log"), "b2\n");
      copyFileSync(files.path("b.log"), files.path("b.log.1"));
      truncateSync(files.path("b.log"));
      appendFileSync(files.path("b.log"), "b3 and more\n");
      await files.start(config);
      await until(() => expect(files.bodies.toSorted()).toEqual(["a1", "a2", "a3", "b1", "b2", "b3 and more"]));
    });
  }

  it("does not read a copy while what it is a copy of is there", async () => {
    const files = new LogFiles();
    const text = Array.from({ length: 200 }, (_, i) => `line ${i}\n`).join("");
    writeFileSync(files.path("a.log"), text);
    await files.start();
    await until(() => expect(files.bodies).toHaveLength(200));
    copyFileSync(files.path("a.log"), files.path("copy.log"));
    appendFileSync(files.path("a.log"), "more\n");
    await until(() => expect(files.bodies).toHaveLength(201));
    writeFileSync(files.path("z.log"), "the end\n");
    await until(() => expect(files.bodies.at(-1)).toBe("the end"));
    expect(files.bodies).toHaveLength(202);
  });

  it("reads two files that begin alike and go on differently", async () => {
    const files = new LogFiles();
    const banner = `${"=".repeat(2000)}\n`;
    writeFileSync(files.path("a.log"), `${banner}a\n`);
    await files.start();
    await until(() => expect(files.bodies).toHaveLength(2));
    writeFileSync(files.path("b.log"), `${banner}b\n`);
    await until(() => expect(files.bodies).toContain("b"));
    expect(files.bodies).toHaveLength(4);
  });

  it("reads a successor that begins as the file did which was moved away", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), "started\n");
    await files.start();
    await until(() => expect(files.bodies).toEqual(["started"]));
    renameSync(files.path("a.log"), files.path("a.old"));
    writeFileSync(files.path("a.log"), "started\nagain\n");
    await until(() => expect(files.bodies).toEqual(["started", "started", "again"]));
  });

  it("reads gzip files, including one that was compressed after it had been read", async () => {
    const files = new LogFiles();
    const text = Array.from({ length: 300 }, (_, i) => `line ${i}\n`).join("");
    writeFileSync(files.path("a.log"), text);
    writeFileSync(files.path("old.log.gz"), gzipSync("from gzip\n"));
    const config = { include: [files.path("*.log*")], compression: "auto" };
    await files.start(config);
    await until(() => expect(files.bodies).toHaveLength(301));
    await files.stop();
    rmSync(files.path("a.log"));
    writeFileSync(files.path("a.log.1.gz"), gzipSync(`${text}the rest\n`));
    await files.start(config);
    await until(() => expect(files.bodies.slice(301)).toEqual(["the rest"]));
  });

  for (const [action, expected] of [
    ["ignore", []],
    ["read_whole_file", ["new"]],
    ["read_new", ["later"]],
  ] as const) {
    it(`does with a shorter file that begins as it did what on_truncate says: ${action}`, async () => {
      const files = new LogFiles();
      const header = `${"h".repeat(1500)}\n`;
      writeFileSync(files.path("a.log"), `${header}${"x".repeat(1000)}\n`);
      await files.start({ on_truncate: action });
      await until(() => expect(files.bodies).toHaveLength(2));
      writeFileSync(files.path("a.log"), `${header}new\n`);
      writeFileSync(files.path("b.log"), "seen\n");
      await until(() => expect(files.bodies).toContain("seen"));
      appendFileSync(files.path("a.log"), "later\n");
      writeFileSync(files.path("c.log"), "seen too\n");
      await until(() => expect(files.bodies).toContain("seen too"));
      await until(() => expect(files.bodies.slice(2)).toEqual(expect.arrayContaining([...expected])));
      expect(files.bodies.includes("new")).toBe(action === "read_whole_file");
    });
  }
});

describe("records", () => {
  it("cuts a line at max_log_size, between characters, or leaves its rest out", async () => {
    for (const [behavior, expected] of [
      ["split", ["aé", "éé", "z", "b"]],
      ["truncate", ["aé", "b"]],
    ] as const) {
      const files = new LogFiles();
      writeFileSync(files.path("a.log"), "aéééz\nb\n");
      await files.start({ max_log_size: 4, max_log_size_behavior: behavior });
      await until(() => expect(files.bodies).toEqual(expected));
    }
  });

  it("leaves out the rest of a line that is longer than what is read at once", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), `${"x".repeat(5_000_000)}\nb\n`);
    await files.start({ max_log_size: 1000, max_log_size_behavior: "truncate" });
    await until(() => expect(files.bodies).toEqual(["x".repeat(1000), "b"]));
  });

  it("makes a record of a line without an end when nothing comes any more", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), "whole\nhalf");
    await files.start({ force_flush_period: "50ms" });
    await until(() => expect(files.bodies).toEqual(["whole", "half"]));
    appendFileSync(files.path("a.log"), " other half\n");
    await until(() => expect(files.bodies).toEqual(["whole", "half", "other half"]));
  });

  it("numbers records, empty ones included, and tells where they begin, if wanted, also after a restart", async () => {
    const files = new LogFiles();
    const config = { include_file_record_number: true, include_file_record_offset: true };
    writeFileSync(files.path("a.log"), "one\n\ntwo\n");
    await files.start(config);
    await until(() => expect(files.bodies).toHaveLength(2));
    await files.stop();
    appendFileSync(files.path("a.log"), "three\n");
    await files.start(config);
    await until(() => expect(files.bodies).toHaveLength(3));
    const facts = files.records.map(({ attributes }) => [
      attributes["log.file.record_number"],
      attributes["log.file.record_offset"],
    ]);
    expect(facts).toEqual([
      [1, 0],
      [3, 5],
      [4, 9],
    ]);
  });

  it("reads other encodings", async () => {
    for (const [encoding, bytes] of [
      ["utf-16le", Buffer.from("\ufeffgrün Ċ\nčervená\n", "utf16le")],
      ["utf-16be", Buffer.from("\ufeffgrün Ċ\nčervená\n", "utf16le").swap16()],
      ["utf-8", Buffer.from("\ufeffgrün Ċ\nčervená\n")],
    ] as const) {
      const files = new LogFiles();
      writeFileSync(files.path("a.log"), bytes);
      await files.start({ encoding });
      await until(() => expect(files.bodies).toEqual(["grün Ċ", "červená"]));
    }
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), Buffer.from("grün\n", "latin1"));
    await files.start({ encoding: "windows-1252" });
    await until(() => expect(files.bodies).toEqual(["grün"]));
  });

  it("replaces invalid UTF-8 or keeps it as bytes, and skips the NULs of a hole", async () => {
    const text = Buffer.concat([
      Buffer.alloc(3000),
      Buffer.from("a\n"),
      Buffer.from([0x62, 0xff, 10]),
      Buffer.from("c\n"),
    ]);
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), text);
    await files.start();
    await until(() => expect(files.bodies).toEqual(["a", "b\ufffd", "c"]));
    const raw = new LogFiles();
    writeFileSync(raw.path("a.log"), text);
    await raw.start({ encoding: "utf-8-raw" });
    await until(() => expect(raw.records.map(({ body }) => body)).toEqual(["a", new Uint8Array([0x62, 0xff]), "c"]));
  });

  it("takes bytes as they are with the encoding nop", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), Buffer.from([1, 2, 10, 3, 255]));
    await files.start({ encoding: "nop", max_log_size: 2, force_flush_period: "20ms" });
    await until(() =>
      expect(files.records.map(({ body }) => [...(body as Uint8Array)])).toEqual([[1, 2], [10, 3], [255]]),
    );
  });

  it("joins lines by patterns", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), "lead\nE one\n  at x\nE two\n  at y\n");
    await files.start({ multiline: { line_start_pattern: "^E " }, force_flush_period: "50ms" });
    await until(() => expect(files.bodies).toEqual(["lead", "E one\n  at x", "E two\n  at y"]));
    const ends = new LogFiles();
    writeFileSync(ends.path("a.log"), "one;two;\nthree;");
    await ends.start({ multiline: { line_end_pattern: ";", omit_pattern: true }, force_flush_period: "50ms" });
    await until(() => expect(ends.bodies).toEqual(["one", "two", "three"]));
  });
});

describe("bad input", () => {
  it("reads on when files vanish, become folders, are links in a circle or may not be read", async () => {
    const files = new LogFiles();
    const { logger, lines } = keepingLogger();
    writeFileSync(files.path("a.log"), "a\n");
    writeFileSync(files.path("b.log"), "b\n");
    symlinkSync(files.path("loop1.log"), files.path("loop2.log"));
    symlinkSync(files.path("loop2.log"), files.path("loop1.log"));
    mkdirSync(files.path("deep"));
    symlinkSync(files.folder, files.path("deep/up"));
    mkdirSync(files.path("folder.log"));
    writeFileSync(files.path("secret.log"), "secret\n");
    chmodSync(files.path("secret.log"), 0);
    await files.start({ include: [files.path("*.log"), files.path("**/*.txt")] }, logger);
    await until(() => expect(files.bodies.filter((body) => body !== "secret")).toEqual(["a", "b"]));
    rmSync(files.path("a.log"));
    rmSync(files.path("b.log"));
    mkdirSync(files.path("b.log"));
    writeFileSync(files.path("c.log"), "c\n");
    await until(() => expect(files.bodies).toContain("c"));
    if (process.getuid?.() !== 0) await until(() => expect(lines.join()).toContain("secret.log"));
  });

  it("reads everything again when the file of offsets is damaged, and logs it", async () => {
    const files = new LogFiles();
    const { logger, lines } = keepingLogger();
    writeFileSync(files.path("a.log"), "one\n");
    await files.start();
    await until(() => expect(files.bodies).toEqual(["one"]));
    await files.stop();
    writeFileSync(files.path("offsets/file_log.offsets"), Buffer.alloc(300, 7));
    await files.start({ start_at: "end" }, logger);
    await until(() => expect(files.bodies).toEqual(["one", "one"]));
    expect(lines.join()).toContain("the offsets file is damaged");
  });

  it("takes a file of offsets whose last line was only half written", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), "one\n");
    await files.start();
    await until(() => expect(files.bodies).toEqual(["one"]));
    await files.stop();
    appendFileSync(files.path("offsets/file_log.offsets"), '12345678 {"id":1,"o":');
    appendFileSync(files.path("a.log"), "two\n");
    await files.start();
    await until(() => expect(files.bodies).toEqual(["one", "two"]));
  });
});
