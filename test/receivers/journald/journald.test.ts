import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { decodeTree, type ReceiverFactory, Refusal } from "../../../src/plugin.js";
import { journaldReceiver } from "../../../src/receivers/journald/component.js";
import { journaldSchema } from "../../../src/receivers/journald/config.js";
import { parseJournalEntry } from "../../../src/receivers/journald/journal-entry.js";
import { receiverConformance, TestIntake } from "../../../src/testing.js";
import { listeningLogger, temporaryDirectory } from "../../exporters/support.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { startReceiver } from "../started-receiver.js";

const REMOTE = "/usr/lib/systemd/systemd-journal-remote";
const hasJournal = existsSync(REMOTE) && existsSync("/usr/bin/journalctl");
if (!hasJournal)
  console.warn("The tests of journald are skipped: they need journalctl and Debian's systemd-journal-remote.");

let micros = Date.now() * 1000;

/** Writes entries into a journal, as a program that logs does. */
function write(
  directory: string,
  entries: readonly (string | Readonly<Record<string, string>>)[],
  file = "system",
): void {
  const text = entries.map((entry) => {
    const fields = {
      __REALTIME_TIMESTAMP: String(++micros),
      __MONOTONIC_TIMESTAMP: "1000",
      _BOOT_ID: "0123456789abcdef0123456789abcdef",
      PRIORITY: "6",
      _SYSTEMD_UNIT: "shop.service",
      SYSLOG_IDENTIFIER: "shop",
      ...(typeof entry === "string" ? { MESSAGE: entry } : entry),
    };
    return Object.entries(fields)
      .map(([name, value]) => `${name}=${value}\n`)
      .join("");
  });
  const path = join(directory, `${file}.journal`);
  execFileSync(REMOTE, ["-o", path, "-"], { input: `${text.join("\n")}\n`, stdio: ["pipe", "ignore", "ignore"] });
}

interface Plain {
  readonly stringValue?: string;
  readonly arrayValue?: { readonly values: readonly Plain[] };
}
interface RecordTree {
  readonly timeUnixNano?: bigint;
  readonly body: Plain & { readonly kvlistValue?: { readonly values: readonly { key: string; value: Plain }[] } };
  readonly attributes?: readonly { key: string; value: Plain }[];
}

function recordsOf(intake: TestIntake): RecordTree[] {
  return intake.batches.flatMap((batch) =>
    (
      decodeTree(batch) as unknown as { resourceLogs: { scopeLogs: { logRecords: RecordTree[] }[] }[] }
    ).resourceLogs.flatMap(({ scopeLogs }) => scopeLogs[0]!.logRecords),
  );
}

const fieldOf = ({ body }: RecordTree, name: string) =>
  body.kvlistValue?.values.find(({ key }) => key === name)?.value.stringValue;
const messagesOf = (intake: TestIntake) => recordsOf(intake).map((record) => fieldOf(record, "MESSAGE"));

async function start(config: object, intake = new TestIntake()) {
  const logger = listeningLogger();
  const receiver = await startReceiver(journaldReceiver as ReceiverFactory, config, intake, logger, "logs");
  let isStopped = false;
  const stop = async () => {
    if (!isStopped) await receiver.stop();
    isStopped = true;
  };
  onTestFinished(stop);
  return { intake, logger, stop, messages: () => messagesOf(intake), records: () => recordsOf(intake) };
}

/** A journal, and the keys to read it. */
async function journal(...entries: (string | Readonly<Record<string, string>>)[]) {
  const directory = await temporaryDirectory();
  const offsets_directory = await temporaryDirectory();
  if (entries.length > 0) write(directory, entries);
  return { directory, offsets_directory };
}

/** A program that runs a command, which gets the program's path, and then journalctl. */
async function wrappedJournalctl(command: (program: string) => string): Promise<string> {
  const program = join(await temporaryDirectory(), "journalctl");
  writeFileSync(program, `#!/bin/sh\n${command(program)}\nexec /usr/bin/journalctl "$@"\n`);
  chmodSync(program, 0o755);
  return program;
}

const poll = (values: () => unknown) => expect.poll(values, { timeout: patienceMs });

describe.skipIf(!hasJournal)("the journald receiver with a real journal", () => {
  it("reads entries from the end, with all fields in the body as the Collector has them", async () => {
    const keys = await journal("before");
    const { messages, records } = await start(keys);
    write(keys.directory, [{ MESSAGE: "after", SHOP_ORDER: "7" }]);
    await poll(messages).toEqual(["after"]);
    const [record] = records();
    expect(record!.timeUnixNano).toBe(BigInt(micros) * 1000n);
    expect(fieldOf(record!, "SHOP_ORDER")).toBe("7");
    expect(fieldOf(record!, "_SYSTEMD_UNIT")).toBe("shop.service");
    expect(fieldOf(record!, "__CURSOR")).toMatch(/^s=/);
    expect(fieldOf(record!, "__REALTIME_TIMESTAMP")).toBeUndefined();
  });

  it("reads an empty journal from its first entry", async () => {
    const keys = await journal();
    const { messages } = await start(keys);
    write(keys.directory, ["first"]);
    await poll(messages).toEqual(["first"]);
  });

  it("reads only entries that units, identifiers, priority, matches and grep choose", async () => {
    const keys = await journal(
      { MESSAGE: "debug", PRIORITY: "7" },
      "plain",
      { MESSAGE: "of db", _SYSTEMD_UNIT: "db.service", SYSLOG_IDENTIFIER: "db" },
      { MESSAGE: "of root", _UID: "0", _SYSTEMD_UNIT: "init.scope" },
    );
    const beginning = { ...keys, start_at: "beginning" };
    const read = async (more: object, expected: readonly string[]) => {
      const { messages, stop } = await start({ ...beginning, offsets_directory: await temporaryDirectory(), ...more });
      await poll(messages).toEqual(expected);
      await stop();
    };
    await read({}, ["plain", "of db", "of root"]);
    await read({ priority: "debug" }, ["debug", "plain", "of db", "of root"]);
    await read({ units: ["db"] }, ["of db"]);
    await read({ identifiers: ["db"] }, ["of db"]);
    await read({ matches: [{ _SYSTEMD_UNIT: "db.service" }, { _UID: "0", _SYSTEMD_UNIT: "init.scope" }] }, [
      "of db",
      "of root",
    ]);
    await read({ grep: "^of " }, ["of db", "of root"]);
    await read({ directory: undefined, files: [join(keys.directory, "*.journal")], units: ["db.service"] }, ["of db"]);
  });

  it("has no gap and no doubles after a restart", async () => {
    const keys = await journal("before");
    const first = await start(keys);
    await first.stop();
    write(keys.directory, ["one", "two"]);
    const second = await start(keys);
    await poll(second.messages).toEqual(["one", "two"]);
    await second.stop();
    expect(readdirSync(keys.offsets_directory)).toEqual(["journald.cursors"]);
    write(keys.directory, ["three"]);
    write(keys.directory, ["four"], "other");
    const third = await start(keys);
    await poll(third.messages).toEqual(["three", "four"]);
  });

  it("misses no entry when the last one before a restart was not wanted, or the machine was booted", async () => {
    const keys = { ...(await journal("other")), units: ["db"] };
    const first = await start(keys);
    await first.stop();
    const db = { _SYSTEMD_UNIT: "db.service" };
    write(keys.directory, [
      { ...db, MESSAGE: "one" },
      { ...db, MESSAGE: "two", _BOOT_ID: "1123456789abcdef0123456789abcdef" },
    ]);
    const second = await start(keys);
    await poll(second.messages).toEqual(["one", "two"]);
  });

  it("restarts a journalctl that dies, where it was", async () => {
    const keys = await journal();
    const program = await wrappedJournalctl((given) => `echo $$ >> ${given}.pids`);
    const pids = `${program}.pids`;
    const { messages, logger } = await start({ ...keys, journalctl_path: program });
    write(keys.directory, ["one"]);
    await poll(messages).toEqual(["one"]);
    process.kill(Number(readFileSync(pids, "utf8").trim().split("\n").at(-1)), "SIGKILL");
    write(keys.directory, ["two"]);
    await poll(messages).toEqual(["one", "two"]);
    expect(logger.lines[0]!.fields).toMatchObject({ reason: expect.stringContaining("SIGKILL") });
  });

  it("follows a journal with a damaged file", async () => {
    const keys = await journal("before");
    writeFileSync(join(keys.directory, "old.journal"), "LPKSHHRH");
    const program = await wrappedJournalctl((given) => `echo "$*" >> ${given}.calls`);
    const { messages, logger } = await start({ ...keys, journalctl_path: program });
    await poll(() => readFileSync(`${program}.calls`, "utf8")).toContain("--follow");
    write(keys.directory, ["after"]);
    await poll(messages).toEqual(["after"]);
    expect(logger.lines).toEqual([]);
  });

  it("leaves out an entry that is too long, and reads those behind it", async () => {
    const keys = await journal();
    const program = await wrappedJournalctl(
      () => 'case "$*" in *--output=json*) head -c 40000000 /dev/zero | tr "\\0" x; echo;; esac',
    );
    const { messages, logger } = await start({ ...keys, journalctl_path: program });
    write(keys.directory, ["after"]);
    await poll(messages).toEqual(["after"]);
    expect(logger.lines[0]!.fields).toMatchObject({ reason: expect.stringContaining("an entry is longer than") });
  });

  it("keeps entries that are refused for now, and does not move the cursor before they are taken", async () => {
    const keys = await journal("before");
    const intake = new TestIntake();
    intake.answer = () => ({ ok: false, refusal: new Refusal("transient", "busy") });
    const first = await start(keys, intake);
    write(keys.directory, ["one"]);
    await poll(() => intake.batches.length > 0).toBe(true);
    await first.stop();
    const second = await start(keys);
    await poll(second.messages).toEqual(["one"]);
  });

  it("passes entries through operators, and reads those that an operator held again", async () => {
    const keys = await journal();
    const operators = [
      { type: "move", from: "body.MESSAGE", to: "body" },
      { type: "recombine", combine_field: "body", is_first_entry: 'body startsWith "begin"', force_flush_period: "1h" },
    ];
    const { intake, stop } = await start({ ...keys, operators });
    write(keys.directory, ["begin 1", "more", "begin 2"]);
    const bodies = (from: TestIntake) => recordsOf(from).map(({ body }) => body.stringValue);
    await poll(() => bodies(intake)).toEqual(["begin 1\nmore"]);
    await stop();
    write(keys.directory, ["rest", "begin 3"]);
    const second = await start({ ...keys, operators });
    await poll(() => bodies(second.intake)).toEqual(["begin 2\nrest"]);
  });

  it("adds attributes and the original line", async () => {
    const keys = await journal("x");
    const { records } = await start({
      ...keys,
      ...{ start_at: "beginning", include_log_record_original: true },
      attributes: { team: "blue", unit: 'EXPR(body["_SYSTEMD_UNIT"])' },
    });
    await poll(() => records().length).toBe(1);
    const attributes = Object.fromEntries(records()[0]!.attributes!.map(({ key, value }) => [key, value.stringValue]));
    expect(attributes).toMatchObject({ team: "blue", unit: "shop.service" });
    expect(JSON.parse(attributes["log.record.original"]!)).toMatchObject({ MESSAGE: "x" });
  });

  it("reads thousands of entries in order, each once", async () => {
    const messages = Array.from({ length: 3000 }, (_, i) => `m${i}`);
    const keys = await journal(...messages);
    const read = await start({ ...keys, start_at: "beginning" });
    await poll(() => read.messages().length).toBe(3000);
    expect(read.messages()).toEqual(messages);
  });

  it("does not take a value of the config for an option of journalctl", async () => {
    const keys = await journal("one");
    const { messages, logger } = await start({ ...keys, start_at: "beginning", grep: "--version", units: ["--flush"] });
    await poll(() => logger.lines.length + messages().length).toBeGreaterThanOrEqual(0);
    expect(messages()).toEqual([]);
  });

  it("says when the program is missing, and when the journal cannot be read", async () => {
    const keys = await journal();
    await expect(start({ ...keys, journalctl_path: "/nowhere/journalctl" })).rejects.toThrow("there is no program");
    const { logger } = await start({ ...keys, directory: "/nowhere" });
    await poll(() => logger.lines.length).toBeGreaterThan(0);
    expect(logger.lines[0]!.fields).toMatchObject({ reason: expect.stringContaining("No such file") });
  });
});

describe.skipIf(!hasJournal)("the journald receiver keeps the contract", () => {
  for (const each of receiverConformance(journaldReceiver as ReceiverFactory, {
    config: () => ({ ...contract, start_at: "beginning" }),
    patienceMs,
  }))
    it(each.name, async () => {
      contract = await journal("a", "b", "c");
      await each.run();
    });
});
let contract: object = {};

describe("entries of journalctl", () => {
  const entry = (fields: object) =>
    JSON.stringify({ __CURSOR: "s=1", __REALTIME_TIMESTAMP: "1700000000000001", ...fields });

  it("turns bytes into text if the config says so", () => {
    const line = entry({ MESSAGE: [104, 195, 169] });
    expect(parseJournalEntry(line, true).body).toMatchObject({ MESSAGE: "hé" });
    expect(parseJournalEntry(line, false).body).toMatchObject({ MESSAGE: [104, 195, 169] });
    expect(parseJournalEntry(line, false).timestamp).toBe(1_700_000_000_000_001_000n);
  });

  it.each([
    ["no JSON", "hello", /JSON/],
    ["a list", "[]", /not a JSON object/],
    ["null", "null", /not a JSON object/],
    ["no cursor", '{"__REALTIME_TIMESTAMP":"1"}', /__CURSOR/],
    ["no time", '{"__CURSOR":"a"}', /__REALTIME_TIMESTAMP/],
    ["a time that is none", '{"__CURSOR":"a","__REALTIME_TIMESTAMP":"-1"}', /__REALTIME_TIMESTAMP/],
  ])("refuses %s", (_, line, reason) => {
    expect(() => parseJournalEntry(line, true)).toThrow(reason);
  });

  it("keeps fields of any name and shape", () => {
    const { body } = parseJournalEntry(
      `{"__CURSOR":"a","__REALTIME_TIMESTAMP":"1","__proto__":"x","A":null,"B":["x",[1,2]],"C":{"d":1}}`,
      false,
    );
    expect(Object.keys(body)).toEqual(["__CURSOR", "__proto__", "A", "B", "C"]);
    expect([body["A"], body["B"], body["C"]]).toEqual([null, ["x", [1, 2]], null]);
  });
});

it("refuses settings of journald that cannot work", () => {
  const problems = (config: object) => journaldSchema.safeParse(config).error?.issues.map(({ path }) => path.join("."));
  expect(problems({ start_at: "middle" })).toEqual(["start_at"]);
  expect(problems({ matches: [{ "--x": "y" }] })).toEqual(["matches.0.--x"]);
  expect(problems({ root_path: "host" })).toEqual(["root_path", "journalctl_path"]);
  expect(problems({ root_path: "/host", journalctl_path: "/usr/bin/journalctl", priority: 4 })).toBeUndefined();
});
