import { describe, expect, it } from "vitest";
import { auditSentence } from "../../../../console/pages/audit/audit-sentence.js";
import { AUDITED_ACTIONS } from "../../../../src/runtime/contract/operations/audit.js";

const record = { at: 0, actor: "ann", outcome: "done" };

describe("a sentence of the audit", () => {
  it.each([
    [{ action: "replay", count: 1, filter: { exporter: "a" } }, "replayed 1 dead letter of a"],
    [{ action: "replay", count: 3, filter: { ids: ["x", "y", "z"], to: "b" } }, "replayed 3 dead letters to b"],
    [{ action: "replay", target: "4f2", filter: { change: "cancel" } }, "cancelled the replay 4f2"],
    [{ action: "delete", target: "e-1", count: 1 }, "deleted 1 dead letter"],
    [{ action: "reveal", target: "e-1" }, "looked at the unmasked data of e-1"],
    [{ action: "breaker", target: "a", filter: { state: "open" } }, "held the breaker of a open"],
    [{ action: "breaker", target: "a", filter: { state: "auto" } }, "made the breaker of a automatic again"],
    [{ action: "search", filter: { text: "timeout" } }, "searched in the content of dead letters with text timeout"],
    [{ action: "adopt", target: "old", filter: { to: "new" } }, "moved the queue of old to new"],
    [{ action: "something_newer", target: "a" }, "something newer a"],
  ])("tells of %j", (what, sentence) => {
    expect(auditSentence({ ...record, ...what })).toBe(sentence);
  });

  it("has words for every action", () => {
    const said = AUDITED_ACTIONS.map((action) => auditSentence({ ...record, action, target: "a", filter: {} }));
    for (const [i, action] of AUDITED_ACTIONS.entries()) {
      expect(said[i]).not.toBe(`${action.replaceAll("_", " ")} a`);
      expect(said[i]).not.toContain("undefined [");
    }
  });
});
