import { describe, expect, it } from "vitest";
import { PatternMiner } from "../../../src/extensions/insight/pattern-miner.js";
import { TopTable } from "../../../src/extensions/insight/top-table.js";
import { runs } from "../../support/runs.js";
import { HELD_OUT_CORPORA } from "./held-out-corpora.js";
import { BROKER_AND_SYSTEM, DATABASE_AND_PROXIES, PYTHON_AND_NODE } from "./later-corpora.js";
import { CORPORA, type CorpusLine, corpusLines, seeded } from "./log-corpora.js";

/** `npm test` has fewer lines, which are enough to find a rule that is wrong. */
const LINES = runs(20_000).numRuns;

function newMiner(capacity = 2048) {
  const state = { serial: 1, weight: 1, records: 1, bytes: 1, now: 0, minute: 0 };
  const table = new TopTable(capacity, state);
  const miner = new PatternMiner(table);
  const mine = (text: string | Uint8Array) => {
    const bytes = typeof text === "string" ? Buffer.from(text) : text;
    const row = miner.rowOf(bytes, 0, bytes.length, 0);
    table.add(row, 1, bytes.length);
    return row;
  };
  return { table, miner, mine, state };
}

/**
 * Text next to a variable part, without a space, belongs to it: `<*>ms` and `id=<*>` mean the same to people. So does the
 * rest of a URL. Padding does not count, nor the mark that a body has more lines.
 */
function normal(pattern: string): string {
  return pattern
    .replace(/ …$/, "")
    .replace(/\s+/g, " ")
    .replace(/https?:\/\/[^\s"]*<\*>[^\s"\\]*/g, "<*>")
    .replace(/[^\s"'[\](){},:=]*<\*>[^\s"'[\](){},:=]*/g, "<*>")
    .replace(/<\*>(?:[\s:,/.@]*<\*>)+/g, "<*>");
}

/** The share of lines whose pattern is the one that made them, and the share whose group is. */
function accuracy(lines: readonly CorpusLine[]): { readonly pattern: number; readonly group: number } {
  const { miner, mine, table, state } = newMiner();
  for (const { text } of lines) {
    mine(text);
    table.endBatch();
    state.serial++;
  }
  const groups = new Map<number, Map<string, number>>();
  const sizes = new Map<string, number>();
  let right = 0;
  const rows = lines.map(({ text, pattern }) => {
    const row = mine(text);
    const group = groups.get(row) ?? new Map<string, number>();
    groups.set(row, group.set(pattern, (group.get(pattern) ?? 0) + 1));
    sizes.set(pattern, (sizes.get(pattern) ?? 0) + 1);
    return row;
  });
  const texts = new Map([...groups.keys()].map((row) => [row, normal(miner.template(row))]));
  const wanted = new Map([...sizes.keys()].map((pattern) => [pattern, normal(pattern)]));
  let grouped = 0;
  for (const [i, { pattern }] of lines.entries()) {
    const group = groups.get(rows[i]!)!;
    if (texts.get(rows[i]!) === wanted.get(pattern)) right++;
    if (group.size === 1 && group.get(pattern) === sizes.get(pattern)) grouped++;
  }
  return { pattern: right / lines.length, group: grouped / lines.length };
}

describe("patterns of log lines", () => {
  it.each(CORPORA)("are right for at least 90 % of the lines of $name", (corpus) => {
    const { pattern, group } = accuracy(corpusLines(corpus, LINES, seeded(7)));
    expect(pattern).toBeGreaterThanOrEqual(0.9);
    expect(group).toBeGreaterThanOrEqual(0.9);
  });

  it.each(HELD_OUT_CORPORA)("are right for at least 90 % of the lines of $name, which were held out", (corpus) => {
    const { pattern, group } = accuracy(corpusLines(corpus, LINES, seeded(7)));
    expect(pattern).toBeGreaterThanOrEqual(0.9);
    expect(group).toBeGreaterThanOrEqual(0.9);
  });

  // A few points below what was measured, which says how far there is to go. Raise them, but not by rules for these lines.
  it.each([
    { corpus: DATABASE_AND_PROXIES, least: { pattern: 0.43, group: 0.43 } },
    { corpus: PYTHON_AND_NODE, least: { pattern: 0.55, group: 0.51 } },
    { corpus: BROKER_AND_SYSTEM, least: { pattern: 0.63, group: 0.61 } },
  ])("are no worse than measured for $corpus.name, which no rule was made for", ({ corpus, least }) => {
    const { pattern, group } = accuracy(corpusLines(corpus, LINES, seeded(7)));
    expect(pattern).toBeGreaterThanOrEqual(least.pattern);
    expect(group).toBeGreaterThanOrEqual(least.group);
  });

  it.each([
    ["padding", ["job   7 done", "job  12 done", "job 123 done"], "job <*> done"],
    ["lists of any length", ["ids in [1]", "ids in [2, 3]", "ids in [4, 5, 6]"], "ids in [<*>]"],
    ["dates with names", ["Mon Oct 12 up", "Tue Nov 3 up", "Sat Jan  1 up"], "<*> <*> <*> up"],
    ["addresses with a query", ["open /find?q=a&n=1", "open /find?q=b"], "open <*>"],
  ])("do not depend on %s", (_, lines, wanted) => {
    const { miner, mine } = newMiner();
    const rows = new Set(lines.map((line) => mine(line)));
    expect(rows.size).toBe(1);
    expect(normal(miner.template([...rows][0]!))).toBe(normal(wanted));
  });

  it("keep messages in quotes apart, and join requests in quotes", () => {
    const { mine } = newMiner();
    expect(mine('kubelet.go] "pod added" pod="a1"')).not.toBe(mine('kubelet.go] "pod deleted" pod="a1"'));
    expect(mine('failed, request: "GET /a HTTP/1.1"')).toBe(mine('failed, request: "PUT /b?c=d HTTP/2.0"'));
    expect(mine('{"msg": "user 5 came"}')).not.toBe(mine('{"msg": "user 5 left"}'));
  });

  it("keep events apart that differ in a word, and join lines that differ in names", () => {
    const { miner, mine } = newMiner();
    const rows = ["placed", "cancelled", "shipped"].map((word) => mine(`Order 17 ${word} by shop`));
    expect(new Set(rows).size).toBe(3);
    for (const user of ["alice", "bob", "carol", "dave", "erin"]) mine(`user ${user} logged in from 10.0.0.1`);
    expect(miner.template(mine("user frank logged in from 10.0.0.2"))).toBe("user <*> logged in from <*>");
  });

  it("show a number as it is if all lines have the same", () => {
    const { miner, mine } = newMiner();
    for (let i = 0; i < 20; i++) mine(`listening on port 8080 for client ${i}`);
    expect(miner.template(mine("listening on port 8080 for client 99"))).toBe("listening on port 8080 for client <*>");
  });

  it("survive binary bodies, long lines and lines without words", () => {
    const { miner, mine } = newMiner();
    const random = seeded(3);
    for (let i = 0; i < 2000; i++) {
      const bytes = Uint8Array.from({ length: Math.floor(random() * 700) }, () => Math.floor(random() * 256));
      expect(typeof miner.template(mine(bytes))).toBe("string");
    }
    for (const text of ["", " ", "\n\n", "=".repeat(5000), "a".repeat(5000), "<script>alert(1)</script>"])
      expect(typeof miner.template(mine(text))).toBe("string");
  });

  it("stay within their table, however many there are", () => {
    const { table, mine, state } = newMiner(128);
    const random = seeded(5);
    const word = () =>
      Math.floor(random() * 1e9)
        .toString(36)
        .replace(/\d/g, "x");
    for (let i = 0; i < 4000; i++) {
      mine(Array.from({ length: 1 + Math.floor(random() * 12) }, word).join(" "));
      table.endBatch();
      state.serial++;
    }
    expect(table.rowCount).toBeLessThanOrEqual(128);
    expect(table.evicted).toBeGreaterThan(0);
    expect(table.unlisted()).toBeGreaterThan(0);
  });
});
