import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DeadLetterQuery } from "../../../../src/runtime/contract/operations/admin.js";
import type { Entry } from "../../../../src/runtime/contract/operations/entry.js";
import { runs } from "../../../support/runs.js";
import { cleanUp, type Group, startGroup } from "./group.js";

let group: Group;
beforeAll(async () => {
  group = await startGroup(3);
});
afterAll(cleanUp);

async function allPages(query: DeadLetterQuery): Promise<Entry[]> {
  const found: Entry[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await group.face.admin.listDeadLetters({ ...query, ...(cursor !== undefined && { cursor }) });
    expect(page.entries.length).toBeLessThanOrEqual(query.limit!);
    found.push(...page.entries);
    cursor = page.cursor;
    if (cursor === undefined) return found;
  }
}

const idsOf = (entries: readonly Entry[]) => entries.map(({ id }) => id);
const failedAt = ({ failure }: Entry) => failure!.at;

describe("dead letters of several workers", () => {
  it("are listed in pages as the sorted union of all, nothing twice", async () => {
    const operation = fc.record({ worker: fc.integer({ min: 1, max: 3 }), text: fc.constantFrom("x", "y") });
    const asked = fc.record({
      limit: fc.integer({ min: 1, max: 7 }),
      order: fc.constantFrom("oldest" as const, "newest" as const),
      text: fc.option(fc.constantFrom("x", "y"), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 3 }), asked, async (made, { limit, order, text }) => {
        for (const { worker, text: body } of made) await group.deadLetter(worker, body);
        const query = { limit, order, ...(text !== undefined && { text }) };
        const sign = order === "oldest" ? 1 : -1;
        const found = await allPages(query);
        const union = await group.union({ order, ...(text !== undefined && { text }) });
        expect(idsOf(found)).toEqual(idsOf(union.sort((a, b) => sign * (failedAt(a) - failedAt(b)))));
        expect(new Set(idsOf(found)).size).toBe(found.length);
      }),
      runs(15),
    );
  });

  it("are counted together", async () => {
    await group.deadLetter(1, "counted");
    await group.deadLetter(2, "counted");
    const union = await group.union();
    const { admin, refresh } = group.face;
    await refresh();
    const dead = admin.exporters().reduce((sum, { deadLetters }) => sum + deadLetters.entries, 0);
    expect(dead).toBe(union.length);
    expect(await admin.deadLetterStats({})).toMatchObject({
      entries: union.length,
      byExporter: { collect: union.length },
      oldestAt: Math.min(...union.map(failedAt)),
    });
    const { groups } = await admin.deadLetterGroups({});
    expect(groups.reduce((sum, { entries }) => sum + entries, 0)).toBe(union.length);
    expect(new Set(groups.map(({ signature }) => signature)).size).toBe(groups.length);
    const byText = await admin.deadLetterGroups({ limit: 1 });
    expect(byText.groups).toEqual([expect.objectContaining({ entries: groups[0]!.entries })]);
    expect(byText.total).toBe(groups.length);
  });

  it("are found, shown and edited where they are", async () => {
    await group.deadLetter(3, "to be edited");
    const [entry] = (await group.face.admin.listDeadLetters({ text: "to be edited" })).entries;
    const acting = group.face.admin.actingAs({ actor: "ann" });
    expect(await acting.deadLetter(entry!.id)).toMatchObject({ id: entry!.id });
    const payload = (await acting.payload(entry!.id, { reveal: true }))!;
    expect(payload).toContain("to be edited");
    const edited = payload.replace("to be edited", "edited");
    await acting.editDeadLetter(entry!.id, { by: "ann", payload: edited, revision: 0 });
    expect(await group.workers[2]!.agent.admin!.payload(entry!.id, { reveal: true })).toContain('"edited"');
    expect(await acting.deadLetter("nobody")).toBeUndefined();
  });

  it("are deleted by ids over all workers, or not at all", async () => {
    for (const worker of [1, 2, 3]) await group.deadLetter(worker, "to be deleted");
    const ids = idsOf((await group.face.admin.listDeadLetters({ text: "to be deleted" })).entries);
    expect(ids).toHaveLength(3);
    const { admin } = group.face;
    const before = (await group.union()).length;
    await expect(admin.deleteDeadLetters({ ids: [...ids, "unknown"] })).rejects.toMatchObject({ code: "not_found" });
    expect(await group.union()).toHaveLength(before);
    expect(await admin.deleteDeadLetters({ ids })).toBe(3);
    expect(await group.union({ text: "to be deleted" })).toEqual([]);
    await expect(admin.deleteDeadLetters({ ids: [] })).rejects.toMatchObject({ code: "bad_request" });
  });

  it("are deleted by a query up to its limit, the oldest of all first", async () => {
    for (const worker of [2, 1, 3, 1]) await group.deadLetter(worker, "to be limited");
    const all = await allPages({ text: "to be limited", order: "oldest", limit: 10 });
    const deleted = await group.face.admin.deleteDeadLetters({ query: { text: "to be limited", limit: 3 } });
    expect(deleted).toBe(3);
    expect(idsOf(await group.union({ text: "to be limited" }))).toEqual([all[3]!.id]);
    expect(await group.face.admin.deleteDeadLetters({ query: { text: "none has this", limit: 3 } })).toBe(0);
  });

  it("are exported from all workers, and imported once", async () => {
    for (const worker of [1, 2]) await group.deadLetter(worker, "to be moved");
    const { admin } = group.face;
    const lines: string[] = [];
    for await (const line of admin.exportDeadLetters({ text: "to be moved" }, { reveal: true })) lines.push(line);
    expect(lines).toHaveLength(2);
    const again = await admin.importDeadLetters(iterate([...lines, "no line"]));
    expect(again.imported).toBe(0);
    expect(again.problems.map(({ line }) => line)).toEqual([1, 2, 3]);
    expect(again.problems[1]!.message).toContain("exists already");
    await admin.deleteDeadLetters({ query: { text: "to be moved" } });
    await admin.deleteDeadLetters({ query: { text: "to be moved", deleted: true } });
    expect(await admin.importDeadLetters(iterate(lines))).toEqual({ imported: 2, problems: [] });
    expect(await group.union({ text: "to be moved" })).toHaveLength(2);
  });

  it("are told by a damaged cursor that it is damaged", async () => {
    const { cursor } = await group.face.admin.listDeadLetters({ limit: 1 });
    for (const damaged of [cursor!.slice(0, -5), cursor!.replace(/^\d/, "9"), "x", "1.0~", "2.1~a"])
      await expect(group.face.admin.listDeadLetters({ limit: 1, cursor: damaged })).rejects.toMatchObject({
        code: "bad_request",
      });
  });
});

async function* iterate(lines: readonly string[]) {
  yield* lines;
}
