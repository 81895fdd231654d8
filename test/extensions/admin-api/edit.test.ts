import { describe, expect, it } from "vitest";
import { batchToJson } from "../../../src/plugin.js";
import { createAdminToken } from "../../../src/runtime/net/auth/admin-token.js";
import { deadLetter } from "../../runtime/queue/operate/controls.js";
import { logs } from "../../support/telemetry/batches.js";
import { startApi } from "./harness.js";

const payload = (text: string) => JSON.parse(batchToJson(logs(text)));
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe("POST /dead-letters/:id/edit", () => {
  it("changes the payload once for each revision", async () => {
    const { ask, a } = await startApi();
    const { entry } = await deadLetter(a, { body: "old" });
    const edit = (body: object) => ask("POST", `/dead-letters/${entry.id}/edit`, body);
    const first = await edit({ payload: payload("new"), revision: 0, reason: "typo", by: "ann" });
    expect(first.body.entry.edits).toMatchObject([{ revision: 1, by: "ann", reason: "typo" }]);
    const late = await edit({ payload: payload("other"), revision: 0, reason: "typo" });
    expect([late.status, late.body.error.code]).toEqual([409, "conflict"]);
    const shown = await ask("GET", `/dead-letters/${entry.id}?payload=true`);
    expect(JSON.stringify(shown.body.payload)).toContain("new");
    const before = await ask("GET", `/dead-letters/${entry.id}?payload=true&revision=0`);
    expect(JSON.stringify(before.body.payload)).toContain("old");
    expect((await ask("GET", `/dead-letters/${entry.id}?payload=true&revision=9`)).status).toBe(404);
  });

  it("keeps numbers exact that are given as text", async () => {
    const { ask, a } = await startApi();
    const { entry } = await deadLetter(a);
    const number = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"intValue":9007199254740993}}]}]}]}';
    await ask("POST", `/dead-letters/${entry.id}/edit`, { payload: number, revision: 0, reason: "exact" });
    const { body } = await ask("POST", `/dead-letters/${entry.id}/reveal`, { reason: "look" });
    expect(JSON.stringify(body.payload)).toContain("9007199254740993");
  });

  it("accepts large payloads, and refuses bad ones with the reason", async () => {
    const { ask, a } = await startApi();
    const { entry } = await deadLetter(a);
    const edit = (body: object) => ask("POST", `/dead-letters/${entry.id}/edit`, { reason: "x", revision: 0, ...body });
    const unknown = await edit({ payload: { resourceLogs: [{ scopeLogs: [{ logRecord: [] }] }] } });
    expect([unknown.status, unknown.body.error.message]).toEqual([
      400,
      "the payload is not OTLP of logs: it has no member resourceLogs[0].scopeLogs[0].logRecord",
    ]);
    for (const body of [
      { payload: 1 },
      { payload: payload("x"), revision: -1 },
      { payload: payload("x"), reason: " " },
    ])
      expect((await edit(body)).status).toBe(400);
    expect((await edit({ payload: payload("y".repeat(3_000_000)) })).status).toBe(200);
  });

  it("needs the roles reveal and replay", async () => {
    for (const [roles, status] of [
      [["replay"], 403],
      [["reveal"], 403],
      [["replay", "reveal"], 404],
    ] as const) {
      const token = createAdminToken();
      const { ask } = await startApi({ endpoint: "127.0.0.1:0", tokens: [{ name: "t", token, roles }] });
      const body = { payload: payload("x"), revision: 0, reason: "r" };
      expect((await ask("POST", "/dead-letters/unknown/edit", body, bearer(token))).status).toBe(status);
    }
  });
});

describe("samples of a dry run", () => {
  it("are shown unmasked only to callers who may see payloads and give a reason", async () => {
    const token = createAdminToken();
    const tokens = [{ name: "t", token, roles: ["replay"] }];
    const { ask, a } = await startApi({ endpoint: "127.0.0.1:0", tokens });
    await deadLetter(a, { body: "mail alice@example.com", at: Date.now() });
    const body = { all: true, by: "ann", dryRun: true, samples: 1 };
    const masked = await ask("POST", "/dead-letters/replay", body, bearer(token));
    expect(masked.body.report.samples).toMatchObject([{ masked: true }]);
    expect(JSON.stringify(masked.body)).not.toContain("alice@example.com");
    const revealed = { ...body, reveal: true, reason: "check" };
    expect((await ask("POST", "/dead-letters/replay", revealed, bearer(token))).status).toBe(403);
    const owner = await startApi();
    await deadLetter(owner.a, { body: "mail alice@example.com", at: Date.now() });
    expect((await owner.ask("POST", "/dead-letters/replay", { ...body, reveal: true })).status).toBe(400);
    const shown = await owner.ask("POST", "/dead-letters/replay", revealed);
    expect(JSON.stringify(shown.body.report.samples)).toContain("alice@example.com");
  });
});
