import { constants, lstat, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { crc32c } from "../../../../src/runtime/codecs/crc32c.js";
import { FAILURE_REASONS } from "../../../../src/runtime/contract/operations/failure-reasons.js";
import { completeSettings } from "../../../../src/runtime/contract/schema/exporter-settings.js";
import { startApi } from "../../../extensions/admin-api/harness.js";
import { TLS_FILES } from "../../../runtime/net/tls/files.js";
import { deadLetter } from "../../../runtime/queue/operate/controls.js";
import { newEntry } from "../../../runtime/queue/store/entries.js";
import { openQueue, queueOf, sluice, temporary } from "./support.js";

/** An agent's API with these dead letters of exporter a, and the command line pointed at it. */
async function running(...failures: Parameters<typeof deadLetter>[1][]) {
  const api = await startApi();
  const ids: string[] = [];
  for (const own of failures) ids.push((await deadLetter(api.a, { at: Date.now() - 1000, ...own })).entry.id);
  const at = ["--api", api.url.replace("/api/v1", "")];
  return { ...api, ids, dlq: (args: string[], options = {}) => sluice(["dlq", ...args, ...at], options) };
}

describe("dlq list", () => {
  it("prints a table that fits the terminal, without what a terminal might obey", async () => {
    const message = `\x1b[31m${"long ".repeat(100)}`;
    const { dlq, ids } = await running({ error: { kind: "permanent", class: "HTTP 400", message, code: "X" } });
    const { code, out } = await dlq(["list"], { columns: 80 });
    expect(code).toBe(0);
    expect(out).toMatch(/^ID +FAILED +EXPORTER +REASON +ITEMS +ERROR\n/);
    expect(out).toContain(ids[0]);
    expect(out).not.toContain("\x1b");
    for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
    expect((await dlq(["list"])).out).toContain("long ".repeat(100).trim());
  });

  it("filters, and pages with the cursor it prints", async () => {
    const { dlq, ids } = await running({ names: ["a.x"] }, { names: ["b"] }, { names: ["a.y"] });
    const args = ["list", "--event", "a.*", "--since", "2h", "--limit", "1", "--exporter", "a", "--json"];
    const first = JSON.parse((await dlq(args)).out);
    expect(first.entries.map(({ id }: { id: string }) => id)).toEqual([ids[2]]);
    const second = await dlq([...args, "--cursor", first.cursor]);
    expect(JSON.parse(second.out)).toMatchObject({ entries: [{ id: ids[0] }] });
    const other = await dlq(["list", "--event", "b", "--cursor", first.cursor]);
    expect([other.code, other.err]).toEqual([2, expect.stringContaining("other filters")]);
  });

  it.each(FAILURE_REASONS)("takes the reason %s, and its help and the page name it", async (reason) => {
    const { dlq, ids } = await running({}, { reason }, {});
    const { code, out } = await dlq(["list", "--reason", reason]);
    expect([code, out]).toEqual([0, expect.stringContaining(ids[1]!)]);
    expect((await sluice(["dlq", "list", "--help"])).out).toMatch(new RegExp(`--reason .*\\b${reason}\\b`));
    expect(await readFile("docs/operate/reliability.md", "utf8")).toContain(`\`${reason}\``);
  });

  it("looks on until the page is full when a filter finds little", async () => {
    const { dlq, ids } = await running({ names: ["rare"] }, ...Array.from({ length: 5100 }, () => ({})));
    const { out, err } = await dlq(["list", "--event", "rare"]);
    expect(out).toContain(ids[0]);
    expect(err).toBe("");
  });

  it("goes on where the page before ended", async () => {
    const { dlq, ids } = await running({}, {}, {});
    const first = await dlq(["list", "--limit", "2"]);
    const cursor = /--cursor (\S+)/.exec(first.err)![1]!;
    const second = await dlq(["list", "--limit", "2", "--cursor", cursor]);
    expect([second.out.includes(ids[0]!), second.out.includes(ids[1]!), second.err]).toEqual([true, false, ""]);
  });

  it("says when there are none", async () => {
    expect(await (await running()).dlq(["list"])).toMatchObject({ code: 0, out: "No dead letters.\n" });
  });

  it.each([
    [["list", "--since", "yesterday"], "--since yesterday is not a time"],
    [["list", "--limit", "x"], "--limit x is not a number"],
    [["list", "--limit", "5000"], "limit must be"],
    [["list", "--reason", "bored"], "reason"],
    [["list", "--cursor", "nonsense"], "cursor"],
    [["list", "--exportr", "a"], "did you mean --exporter?"],
    [["list", "extra"], 'unexpected argument "extra"'],
    [["show"], "one id"],
    [["show", "a", "b"], "one id"],
    [["replay"], "nothing is selected"],
    [["replay", "--limit", "3"], "nothing is selected"],
    [["replay", "x", "--all"], "cannot be used together"],
    [["replay", "--all", "--reason", "poison"], "cannot be used together"],
    [["replay", "--all", "--rate", "none"], "--rate none is not a number"],
    [["delete"], "no id was given"],
    [["delete", "a", "b"], "--yes"],
    [["purge"], "nothing is selected"],
    [["import"], "one file"],
  ])("%j is wrong usage", async (args, message) => {
    const { dlq } = await running({});
    const { code, out, err } = await dlq(args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
  });

  it("needs to know where, and not twice", async () => {
    expect(await sluice(["dlq", "list", "--api", "here"])).toMatchObject({ code: 2 });
    expect(await sluice(["dlq", "list", "--api", "http://x", "--dir", "y"])).toMatchObject({ code: 2 });
    expect(await sluice(["dlq"])).toMatchObject({ code: 2, err: expect.stringContaining("list, show, replay") });
  });
});

describe("dlq audit", () => {
  it("tells who did what and why", async () => {
    const { dlq, ids } = await running({}, {});
    expect((await dlq(["audit"])).out).toBe("The audit is empty.\n");
    await dlq(["show", ids[0]!, "--reveal", "--reason", "INC-17 \x1b[31m", "--by", "ann"]);
    await dlq(["purge", "--reason", "permanent", "--yes", "--by", "bob", "--why", "too many"]);
    const { out } = await dlq(["audit"]);
    expect(out).toMatch(/^TIME +ACTOR +ACTION +WHAT +COUNT +OUTCOME +REASON\n/);
    expect(out).toMatch(/bob \(127\.0\.0\.1\) +delete +reason=permanent +2 +done +too many/);
    expect(out).not.toContain("\x1b");
    const { records } = JSON.parse((await dlq(["audit", "--action", "reveal", "--json"])).out);
    expect(records).toMatchObject([{ actor: "ann", target: ids[0] }]);
  });

  it("is kept where no agent runs", async () => {
    const directory = await temporary();
    const [id] = await queueOf(directory, "otlp_http", [{}]);
    await sluice(["dlq", "show", id!, "--reveal", "--reason", "INC-17", "--dir", directory]);
    const { out } = await sluice(["dlq", "audit", "--json", "--dir", directory]);
    expect(JSON.parse(out).records).toMatchObject([{ action: "reveal", target: id, reason: "INC-17" }]);
    expect((await sluice(["dlq", "stats", "--json", "--dir", directory])).out).not.toContain("operators");
  });
});

describe("dlq show", () => {
  it("tells where a copy was forwarded to, and what became of it", async () => {
    const { a, dlq, ids } = await running({});
    const { ref, entry } = (await a.store.find(ids[0]!))!;
    const forwarded = { to: "webhook/failures", at: Date.now(), state: "failed", error: "HTTP 410" } as const;
    await a.store.fail(ref, { ...entry, forwarded });
    const { out } = await dlq(["show", ids[0]!]);
    expect(out).toMatch(/Forwarded +to webhook\/failures, .*: not delivered: HTTP 410/);
    expect(JSON.parse((await dlq(["show", ids[0]!, "--json"])).out).entry.forwarded).toMatchObject({ state: "failed" });
  });

  it("tells the error, the attempts and the cycles, and the records when asked", async () => {
    const { dlq, ids } = await running({ body: "hello", traceIds: ["abc"] });
    await dlq(["replay", ids[0]!, "--by", "ann"]);
    const { code, out } = await dlq(["show", ids[0]!]);
    expect(code).toBe(0);
    expect(out).toContain("waiting to be sent, replayed 1 time");
    expect(out).not.toContain("First failed");
    expect(out).toMatch(
      /permanent after 7 attempts since 2023-11-14 \S+ with config \S+: HTTP 400: bad; replayed .* by ann/,
    );
    expect(out).not.toContain("hello");
    expect((await dlq(["show", ids[0]!, "--payload"])).out).toContain('"stringValue": "hello"');
    expect(JSON.parse((await dlq(["show", ids[0]!, "--json"])).out)).toMatchObject({ entry: { id: ids[0] } });
  });

  it("tells where an error was thrown line by line, without what a terminal might obey", async () => {
    const stack = "Error: bad\n    at send (exporter.js:3:7)\n    at \x1b[31mred (x.js:1:1)";
    const error = { kind: "permanent" as const, class: "HTTP 400", message: "bad", code: "X", stack };
    const { dlq, ids } = await running({ error });
    const { out } = await dlq(["show", ids[0]!]);
    expect(out).toContain(
      "\nStack\n  Error: bad\n      at send (exporter.js:3:7)\n      at \\u001b[31mred (x.js:1:1)\n",
    );
  });

  it("prints nothing that a terminal might obey, as JSON neither", async () => {
    const hostile = "\u001b[31m \u009b31m \u202e \u2028 end";
    const { dlq, ids } = await running({ body: hostile, names: [hostile] });
    for (const args of [["--payload"], ["--payload", "--json"], ["--json"]]) {
      const { out } = await dlq(["show", ids[0]!, ...args]);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
      expect(out).not.toMatch(/[\u001b\u0080-\u009f\u2028-\u202e]/);
      if (args.includes("--json")) expect(JSON.parse(out).entry.failure.names).toEqual([hostile]);
    }
  });

  it("cuts a huge text where people read, and not for programs", async () => {
    const { dlq, ids } = await running({ body: "x".repeat(5_000_000) });
    const { out } = await dlq(["show", ids[0]!, "--payload"]);
    expect(out.length).toBeLessThan(10_000);
    expect(out).toContain("and 4996000 more characters; --json prints all of it");
    expect((await dlq(["show", ids[0]!, "--payload", "--json"])).out.length).toBeGreaterThan(5_000_000);
  });

  it("masks the records, unless somebody says why they must be seen", async () => {
    const { dlq, ids } = await running({ body: "mail joe@example.com" });
    const masked = await dlq(["show", ids[0]!, "--payload"]);
    expect(masked.out).toContain("Payload, masked");
    expect(masked.out).not.toContain("joe@");
    expect(await dlq(["show", ids[0]!, "--reveal"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("--why TEXT"),
    });
    const revealed = await dlq(["show", ids[0]!, "--reveal", "--reason", "INC-17", "--json"]);
    expect(JSON.parse(revealed.out)).toMatchObject({ masked: false });
    expect(revealed.out).toContain("joe@example.com");
  });

  it("tells what failed only as part of a larger request, and what the backend said each time", async () => {
    const { dlq, ids } = await running({ requestItems: 150 });
    const company = /a request of 150 records/;
    expect((await dlq(["show", ids[0]!])).out).toMatch(company);
    expect((await dlq(["list"])).out).toMatch(company);
    const attempt = {
      at: 1_700_000_000_000,
      error: "HTTP 400",
      message: "HTTP 400: no such tenant",
      requestItems: 150,
    };
    const other = await running({ history: [attempt] });
    const { out } = await other.dlq(["show", other.ids[0]!]);
    expect(out).toMatch(/ {2}HTTP 400: no such tenant, in a request of 150 records\n/);
  });

  it("tells how much of a partial success was taken", async () => {
    const { dlq, ids } = await running({ reason: "partial_success", rejected: 1, requestItems: 4 });
    expect((await dlq(["show", ids[0]!])).out).toContain(
      "1 of 4 records; 3 were accepted, and a replay would send them again",
    );
  });

  it("says that an id is unknown", async () => {
    expect(await (await running()).dlq(["show", "nobody-1"])).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining("nobody-1"),
    });
  });
});

describe("dlq replay", () => {
  it("waits for what becomes of them, and is well only if all were delivered", async () => {
    const { dlq, ids, a, records } = await running({}, {}, {});
    const taken = async (end: "delivered" | "failed_again", number: number) => {
      await expect.poll(async () => (await a.store.pending(undefined, 9)).length).toBe(number);
      for (const { ref, entry } of await a.store.pending(undefined, 9)) {
        records.tracker.ended(entry, end, { kind: "permanent", class: "HTTP 400", message: "no\x1b[31m", code: "X" });
        a.store.ack(ref);
      }
    };
    const [well] = await Promise.all([dlq(["replay", ids[0]!, "--wait"]), taken("delivered", 1)]);
    expect(well).toMatchObject({
      code: 0,
      out: expect.stringContaining("1 delivered, 0 failed again, 0 still waiting"),
    });
    const [failed] = await Promise.all([dlq(["replay", ids[1]!, "--wait"]), taken("failed_again", 1)]);
    expect(failed).toMatchObject({ code: 1, out: expect.stringContaining(`${ids[1]}: HTTP 400: no`) });
    expect(failed.out).not.toContain("\x1b");
    const late = await dlq(["replay", ids[2]!, "--wait", "--timeout", "1ms", "--json"]);
    expect([late.code, JSON.parse(late.out)]).toEqual([1, expect.objectContaining({ pending: 1, delivered: 0 })]);
    expect(await dlq(["replay", "--all", "--timeout", "1s"])).toMatchObject({ code: 2 });
    expect(await dlq(["replay", "--all", "--wait", "--timeout", "soon"])).toMatchObject({ code: 2 });
    const directory = await temporary();
    await queueOf(directory, "otlp_http", [{}]);
    expect(await sluice(["dlq", "replay", "--all", "--wait", "--dir", directory])).toMatchObject({ code: 2 });
  });

  it("replays by id, filter or all, and says what it left", async () => {
    const { dlq, ids, a } = await running({}, { reason: "poison" }, { reason: "partial_success" });
    expect(await dlq(["replay", "--all", "--dry-run"])).toMatchObject({
      code: 0,
      out: expect.stringContaining("2 dead letters would be queued again"),
    });
    expect(a.store.stats.failed.entries).toBe(3);
    expect(await dlq(["replay", ids[0]!])).toMatchObject({ code: 0, out: "1 dead letter was queued again.\n" });
    expect((await dlq(["replay", "--reason", "poison"])).code).toBe(0);
    const left = await dlq(["replay", "--all"]);
    expect([left.code, left.out]).toEqual([
      1,
      expect.stringContaining(`1 left: partly accepted by the backend before`),
    ]);
    expect(await dlq(["replay", "--all", "--approve", "--json"])).toMatchObject({ code: 0 });
    expect(await dlq(["replay", "--all"])).toMatchObject({ code: 0, out: "No dead letters were selected.\n" });
    expect((await dlq(["replay", "nobody-1"])).code).toBe(1);
  });

  it("does not say of what the config wants approved that a backend has it", async () => {
    const { dlq, a } = await running({ category: "business" });
    a.settings = completeSettings({ replay: { require_approval: [{ category: "business" }] } });
    const left = await dlq(["replay", "--all"]);
    expect([left.code, left.out]).toEqual([
      1,
      expect.stringMatching(/1 left: .* or matched by replay.require_approval/),
    ]);
  });

  it("shows how far it is, to a person who waits", async () => {
    const { dlq } = await running({}, {}, {});
    const { err, code } = await dlq(["replay", "--all", "--rate", "1.5"], { columns: 80 });
    expect(code).toBe(0);
    expect(err).toMatch(/] [12] of 3/);
    expect(err.endsWith("\r\x1b[K")).toBe(true);
  });
});

describe("dlq delete and purge", () => {
  it("ask before they delete many", async () => {
    const { dlq, ids, a } = await running({}, {}, {}, {});
    expect(await dlq(["delete", ids[0]!])).toMatchObject({ code: 0, asked: [], out: "1 dead letter deleted.\n" });
    expect(await dlq(["delete", ids[1]!, ids[2]!], { answer: "n" })).toMatchObject({
      code: 1,
      asked: [expect.stringContaining("2 dead letters")],
    });
    expect(await dlq(["purge", "--all"], { answer: "" })).toMatchObject({
      code: 1,
      asked: [expect.stringContaining("3 dead letters")],
    });
    expect((await dlq(["purge", "--all"])).code).toBe(2);
    expect(a.store.stats.failed.entries).toBe(3);
    expect((await dlq(["purge", "--all", "--dry-run"])).out).toBe("3 dead letters would be deleted.\n");
    expect((await dlq(["delete", ids[1]!, "nobody-1", "--yes"])).code).toBe(1);
    expect(a.store.stats.failed.entries).toBe(3);
    expect(await dlq(["delete", ids[1]!, ids[2]!, "--yes"])).toMatchObject({ code: 0 });
    expect(await dlq(["purge", "--all"], { answer: "yes" })).toMatchObject({
      code: 0,
      out: "1 dead letter deleted.\n",
    });
  });
});

/** An export that can be imported. */
const WHOLE = ["export", "--reveal", "--why", "moving"];

describe("dlq export and import", () => {
  it("carry dead letters from one agent to another, once", async () => {
    const from = await running({ body: "one" }, { body: "two" });
    const folder = await temporary();
    const file = join(folder, "dead.jsonl");
    expect(await from.dlq([...WHOLE, "--out", file])).toMatchObject({ code: 0, out: "" });
    expect(await readdir(folder)).toEqual(["dead.jsonl"]);
    expect((await from.dlq(WHOLE)).out).toBe(await readFile(file, "utf8"));
    const to = await running();
    expect(await to.dlq(["import", file])).toMatchObject({ code: 0, out: "2 dead letters imported.\n" });
    expect(await to.dlq(["import", file])).toMatchObject({ code: 1, err: expect.stringContaining("line 1: entry") });
    expect((await to.dlq(WHOLE)).out).toBe(await readFile(file, "utf8"));
  });

  it("write masked lines that cannot be imported, unless somebody says why they must be whole", async () => {
    const from = await running({ body: "mail joe@example.com" });
    const file = join(await temporary(), "dead.jsonl");
    const { code, err } = await from.dlq(["export", "--out", file]);
    expect([code, err]).toEqual([0, expect.stringContaining("masked")]);
    expect(await readFile(file, "utf8")).not.toContain("joe@");
    expect(await from.dlq(["import", file])).toMatchObject({ code: 1, err: expect.stringContaining("--reveal") });
    for (const filter of [[], ["--reason", "permanent"]])
      expect(await from.dlq(["export", "--reveal", ...filter])).toMatchObject({
        code: 2,
        err: expect.stringContaining("--why TEXT"),
      });
    const old = await from.dlq(["export", "--reveal", "--reason", "moving"]);
    expect(old).toMatchObject({ code: 0, err: expect.stringContaining("--reason is a filter; write --why TEXT") });
    expect(old.out).toContain("payload");
    const filtered = await from.dlq(["export", "--reveal", "--why", "INC-17", "--reason", "poison"]);
    expect(filtered).toMatchObject({ code: 0, out: "" });
  });

  it("write into no file that somebody has put a link to", async () => {
    const from = await running({ body: "one" });
    const folder = await temporary();
    const [file, victim] = [join(folder, "dead.jsonl"), join(folder, "victim")];
    await writeFile(victim, "untouched");
    for (const link of [file, `${file}.part`]) await symlink(victim, link);
    expect(await from.dlq(["export", "--out", file])).toMatchObject({ code: 0 });
    expect(await readFile(victim, "utf8")).toBe("untouched");
    const { mode } = await lstat(file);
    expect(mode & constants.S_IFMT).toBe(constants.S_IFREG);
    expect(mode & 0o777).toBe(0o600);
  });

  it("change nothing when a line is damaged, unless told to skip it", async () => {
    const from = await running({}, {});
    const file = join(await temporary(), "dead.jsonl");
    const lines = (await from.dlq(WHOLE)).out.split("\n");
    await writeFile(file, [lines[0]!.slice(0, 100), lines[1], ""].join("\n"));
    const to = await running();
    expect(await to.dlq(["import", file])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/line 1: .*\n.*--skip-damaged/),
    });
    expect(to.a.store.stats.failed.entries).toBe(0);
    expect(await to.dlq(["import", file, "--skip-damaged"])).toMatchObject({
      code: 1,
      out: "1 dead letter imported.\n",
    });
    expect(await to.dlq(["import", "/no/such/file"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("ENOENT"),
    });
  });
});

describe("dlq import --set-aside", () => {
  /** A queue with a dead letter and a waiting entry, and what was set aside of it when it was lost. */
  async function lostQueue(): Promise<{ directory: string; folder: string; ids: string[] }> {
    const directory = await temporary();
    const ids = await queueOf(directory, "a", [{}]);
    const before = await openQueue(directory, "a");
    ids.push((await before.put(newEntry("waiting"))).entry.id);
    await before.close();
    const folder = join(directory, ".set-aside", "a-then");
    await mkdir(join(directory, ".set-aside"));
    await rename(join(directory, "a"), folder);
    await rm(join(directory, "a.witness"));
    await (await openQueue(directory, "a")).close();
    return { directory, folder, ids };
  }

  it("takes in what can be read there, and what was waiting as a dead letter", async () => {
    const { directory, folder, ids } = await lostQueue();
    const args = ["dlq", "import", "--set-aside", folder, "--dir", directory];
    expect(await sluice(args)).toMatchObject({ code: 0, out: "2 dead letters imported.\n", err: "" });
    const store = await openQueue(directory, "a");
    const found = await store.failed(undefined, 10, "oldest");
    expect(found.map(({ entry }) => entry.id).sort()).toEqual(ids.sort());
    expect(found.map(({ entry }) => entry.failure?.reason).sort()).toEqual(["imported", "permanent"]);
    await store.close();
    expect(await sluice(args)).toMatchObject({ code: 1, out: "0 dead letters imported.\n" });
  });

  it("leaves out what the repaired queue has", async () => {
    const { directory, folder } = await lostQueue();
    await writeFile(join(folder, "recovered.json"), JSON.stringify({ store: "x", refs: [[2, 2]] }));
    const result = await sluice(["dlq", "import", "--set-aside", folder, "--dir", directory]);
    expect(result).toMatchObject({ code: 0, out: "1 dead letter imported.\n" });
  });

  it("says when there is nothing of a queue, and does not take a file too", async () => {
    const { directory } = await lostQueue();
    const inEmpty = await sluice(["dlq", "import", "--set-aside", await temporary(), "--dir", directory]);
    expect([inEmpty.code, inEmpty.err]).toEqual([1, expect.stringContaining("no files of a queue")]);
    expect((await sluice(["dlq", "import", "file", "--set-aside", "x", "--dir", directory])).code).toBe(2);
  });
});

describe("dlq stats", () => {
  it("groups alike failures", async () => {
    const { dlq } = await running({ signature: "aaa" }, { signature: "aaa" }, { signature: "bbb", reason: "poison" });
    const { out } = await dlq(["stats"]);
    expect(out).toContain("3 dead letters, 3 items");
    expect(out).toContain("By reason: permanent 2, poison 1");
    expect(out).toMatch(/\naaa +2 +2 .*\nbbb +1 +1/);
    expect(JSON.parse((await dlq(["stats", "--json"])).out)).toMatchObject({ entries: 3 });
  });
});

describe("without an agent", () => {
  it("works on a directory of queues", async () => {
    const directory = await temporary();
    const [id] = await queueOf(directory, "otlp_http", [{}]);
    await queueOf(directory, "otlp/B.x", [{ reason: "poison" }, {}]);
    const dlq = (...args: string[]) => sluice(["dlq", ...args, "--dir", directory]);
    expect(JSON.parse((await dlq("stats", "--json")).out).byExporter).toEqual({ otlp_http: 1, "otlp/B.x": 2 });
    expect(await dlq("replay", id!)).toMatchObject({ code: 0, err: "They are sent when an agent runs there again.\n" });
    expect(await dlq("purge", "--reason", "poison", "--yes")).toMatchObject({ code: 0 });
    expect((await dlq("list", "--json")).out.match(/"id"/g)).toHaveLength(1);
    const store = await openQueue(directory, "otlp_http");
    expect(await store.pending(undefined, 10)).toMatchObject([{ entry: { id, state: "pending", replays: 1 } }]);
    await store.close();
  });

  it("says when a queue is in use, and opens no other", async () => {
    const directory = await temporary();
    await queueOf(directory, "a", [{}]);
    await queueOf(directory, "b", [{}]);
    const store = await openQueue(directory, "b");
    const { code, err } = await sluice(["dlq", "list", "--dir", directory]);
    expect([code, err]).toEqual([1, expect.stringContaining("in use by a running agent")]);
    await store.close();
    expect((await sluice(["dlq", "list", "--dir", directory])).code).toBe(0);
  });

  it("leaves the queue of a newer version alone", async () => {
    const directory = await temporary();
    await queueOf(directory, "a", [{}]);
    const witness = join(directory, "a.witness");
    const said = (await readFile(witness, "utf8")).slice(0, 502).replace('"format":2', '"format":9');
    const newer = `${said} ${crc32c(Buffer.from(said)).toString(16).padStart(8, "0")}\n`;
    await writeFile(witness, newer);
    const { code, err } = await sluice(["dlq", "purge", "--all", "--yes", "--dir", directory]);
    expect([code, err]).toEqual([1, expect.stringMatching(/newer|version/)]);
    expect(await readFile(witness, "utf8")).toBe(newer);
  });

  it("makes no queues where there are none", async () => {
    const directory = await temporary();
    expect(await sluice(["dlq", "list", "--dir", directory])).toMatchObject({
      code: 1,
      err: expect.stringContaining("no queues"),
    });
    expect(await sluice(["dlq", "list", "--dir", join(directory, "x")])).toMatchObject({
      code: 1,
      err: expect.stringContaining("no directory"),
    });
    expect(await readdir(directory)).toEqual([]);
    await mkdir(join(directory, "pictures"));
    expect(await sluice(["dlq", "list", "--dir", directory])).toMatchObject({
      code: 1,
      err: expect.stringContaining("no queues"),
    });
    expect(await readdir(directory, { recursive: true })).toEqual(["pictures"]);
  });

  it("says what of a queue was damaged, and lists the rest", async () => {
    const directory = await temporary();
    await queueOf(directory, "a", [{}, {}]);
    await rm(join(directory, "a", "CURRENT"));
    const { code, out, err } = await sluice(["dlq", "list", "--dir", directory, "--json"]);
    expect([code, JSON.parse(out).entries.length]).toEqual([0, 2]);
    expect(err).toMatch(/^sluice: the queue of a was damaged and has been repaired: no entries are lost.*set-aside/);
    expect((await sluice(["dlq", "list", "--dir", directory])).err).toBe("");
  });

  it("asks an agent over https, with the authority to trust and a certificate of its own", async () => {
    const { ca, serverCert: cert_file, serverKey: key_file, clientCert, clientKey } = TLS_FILES;
    const tls = { cert_file, key_file, client_ca_file: ca };
    const api = await startApi({ endpoint: "127.0.0.1:0", tls });
    const at = ["dlq", "stats", "--api", api.url.replace("/api/v1", "")];
    const own = ["--cert", clientCert, "--key", clientKey];
    expect(await sluice([...at, "--ca", ca, ...own])).toMatchObject({ code: 0, err: "" });
    expect(await sluice([...at, ...own])).toMatchObject({ code: 1, err: expect.stringContaining("--ca FILE") });
    expect(await sluice([...at, "--ca", ca])).toMatchObject({ code: 1 });
    expect(await sluice([...at, "--ca", "/nowhere"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("--ca: cannot read /nowhere: ENOENT"),
    });
  });

  it("reports that a named agent does not answer or is not a Sluice agent", async () => {
    expect(await sluice(["dlq", "list", "--api", "http://127.0.0.1:1"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("no agent answers"),
    });
    const other = createServer((_, response) => response.end("<html>"));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const { code, err } = await sluice(["dlq", "list", "--api", `http://127.0.0.1:${port}`]);
    expect([code, err]).toEqual([1, expect.stringContaining("not the API of a Sluice agent")]);
    other.removeAllListeners("request");
    expect(await sluice(["dlq", "list", "--api", `http://127.0.0.1:${port}`])).toMatchObject({
      code: 1,
      err: expect.stringContaining("does not answer"),
    });
    other.closeAllConnections();
  });

  it("names the agent that hangs up amid the work", async () => {
    const dying = createServer(({ url, socket }, response) =>
      url === "/api/v1" ? response.end('{"name":"sluice"}') : socket.destroy(),
    );
    await new Promise<void>((resolve) => dying.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void dying.close());
    const { port } = dying.address() as AddressInfo;
    const { code, err } = await sluice(["dlq", "list", "--api", `http://127.0.0.1:${port}`]);
    expect([code, err]).toEqual([1, `sluice: http://127.0.0.1:${port}: socket hang up\n`]);
  });
});
