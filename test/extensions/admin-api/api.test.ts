import { once } from "node:events";
import { request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { adminApi } from "../../../src/extensions/admin-api/component.js";
import { ROUTES } from "../../../src/extensions/admin-api/routes.js";
import { batchFromJson } from "../../../src/plugin.js";
import { isStartError } from "../../../src/runtime/contract/errors/start-error.js";
import type { Entry } from "../../../src/runtime/contract/operations/entry.js";
import { withIsoTimes } from "../../../src/runtime/contract/operations/iso-times.js";
import { deadLetter } from "../../runtime/queue/operate/controls.js";
import { failure } from "../../runtime/queue/store/entries.js";
import { startApi } from "./harness.js";

const isoTime = (ms: number) => new Date(ms).toISOString();

describe("exporters", () => {
  it("are listed, and shown one by one, also with a slash in the id", async () => {
    const { ask } = await startApi();
    const { body } = await ask("GET", "/exporters");
    expect(body.exporters.map(({ id }: { id: string }) => id)).toEqual(["a", "b/x"]);
    expect(await ask("GET", "/exporters/b%2Fx")).toMatchObject({ status: 200, body: { id: "b/x", state: "UP" } });
    expect(await ask("GET", "/exporters/zzz")).toEqual({
      status: 404,
      body: { error: { code: "not_found", message: 'there is no exporter "zzz"' } },
    });
  });

  it("are paused, resumed, hurried, held open and slowed down", async () => {
    const { ask, a } = await startApi();
    expect((await ask("POST", "/exporters/a/pause")).body.paused).toBe(true);
    expect((await ask("POST", "/exporters/a/resume", {})).body.paused).toBe(false);
    expect((await ask("POST", "/exporters/a/breaker", { state: "open" })).body.breaker).toMatchObject({
      state: "open",
      forced: true,
    });
    expect((await ask("POST", "/exporters/a/replay-rate", { rate: 7 })).body.replayRate).toBe(7);
    expect((await ask("POST", "/exporters/a/retry")).body.id).toBe("a");
    expect([a.forced, a.replayRate, a.hurried]).toEqual(["open", 7, 1]);
  });

  it.each([
    ["/exporters/zzz/pause", {}, 404],
    ["/exporters/a/breaker", { state: "ajar" }, 400],
    ["/exporters/a/breaker", {}, 400],
    ["/exporters/a/replay-rate", { rate: 0 }, 400],
    ["/exporters/a/replay-rate", { rate: "7" }, 400],
    ["/exporters/a/pause", { now: true }, 400],
    ["/exporters/a/pause", "{", 400],
    ["/exporters/a/explode", {}, 404],
  ])("refuse POST %s with %j", async (path, body, status) => {
    const answer = await (await startApi()).ask("POST", path, body);
    expect(answer).toMatchObject({
      status,
      body: { error: { code: expect.any(String), message: expect.any(String) } },
    });
  });
});

describe("dead letters", () => {
  it("are listed page by page with filters", async () => {
    const { ask, a, b } = await startApi();
    for (let at = 1; at <= 3; at++) await deadLetter(a, { at, names: ["order.paid"] });
    await deadLetter(b, { at: 4, reason: "poison" });
    const first = await ask(
      "GET",
      "/dead-letters?exporter=a&limit=2&event=order.*&since=1970-01-01T00:00:00Z&order=oldest",
    );
    expect(first.body.entries.map(({ failure }: Entry) => failure?.at)).toEqual([isoTime(1), isoTime(2)]);
    const rest = await ask(
      "GET",
      `/dead-letters?exporter=a&limit=2&event=order.*&since=0&order=oldest&cursor=${first.body.cursor}`,
    );
    expect(rest.body.entries.map(({ failure }: Entry) => failure?.at)).toEqual([isoTime(3)]);
    expect(rest.body.cursor).toBeUndefined();
    expect((await ask("GET", "/dead-letters?reason=poison")).body.entries).toHaveLength(1);
  });

  it.each([
    "?limit=x",
    "?limit=0",
    "?limit=1&limit=2",
    "?since=yesterday",
    "?reason=bored",
    "?cursor=abc",
    "?colour=red",
  ])("refuse %s with 400", async (query) => {
    const { ask } = await startApi();
    expect(await ask("GET", `/dead-letters${query}`)).toMatchObject({
      status: 400,
      body: { error: { code: "bad_request" } },
    });
  });

  it("show their records only when asked", async () => {
    const { ask, a } = await startApi();
    const { entry } = await deadLetter(a, { body: "hello" });
    expect((await ask("GET", `/dead-letters/${entry.id}`)).body).toEqual({
      entry: JSON.parse(JSON.stringify(entry, withIsoTimes)),
    });
    const { body } = await ask("GET", `/dead-letters/${entry.id}?payload=true`);
    expect(JSON.stringify(body.payload)).toContain("hello");
    expect((await ask("GET", "/dead-letters/nobody-1")).status).toBe(404);
    expect((await ask("GET", `/dead-letters/${entry.id}?payload=perhaps`)).status).toBe(400);
    expect((await ask("GET", "/dead-letters/%ff")).status).toBe(404);
  });

  it("are masked, unless the caller gives a reason to see them", async () => {
    const { ask, a } = await startApi();
    const body = '{"user":"joe@example.com","password":"hunter22","note":"card 4111 1111 1111 1111"}';
    const { entry } = await deadLetter(a, { body });
    const shown = await ask("GET", `/dead-letters/${entry.id}?payload=true`);
    const exported = await ask("GET", "/dead-letters/export");
    expect(shown.body.masked).toBe(true);
    for (const secret of ["joe@", "hunter22", "4111"]) {
      expect(JSON.stringify(shown.body)).not.toContain(secret);
      expect(exported.body).not.toContain(secret);
    }
    expect(JSON.stringify(shown.body.payload)).toContain("note");
    for (const refused of [{}, { reason: "  " }, { reason: 1 }, { reason: "x".repeat(1001) }])
      expect((await ask("POST", `/dead-letters/${entry.id}/reveal`, refused)).status).toBe(400);
    const revealed = await ask("POST", `/dead-letters/${entry.id}/reveal`, { reason: "INC-17", by: "ann" });
    expect(revealed).toMatchObject({ status: 200, body: { entry: { id: entry.id }, masked: false } });
    expect(JSON.stringify(revealed.body.payload)).toContain("hunter22");
    expect((await ask("POST", "/dead-letters/nobody-1/reveal", { reason: "x" })).status).toBe(404);
  });

  it("are audited: who did what from where, and why", async () => {
    const { ask, a } = await startApi();
    const { entry } = await deadLetter(a);
    await ask("POST", `/dead-letters/${entry.id}/reveal`, { reason: "INC-17", by: "ann" });
    await ask("POST", "/exporters/a/pause", { reason: "maintenance", by: "bob" });
    await ask("POST", "/dead-letters/purge", { all: true, by: "bob" });
    const from = "127.0.0.1";
    await expect.poll(async () => (await ask("GET", "/audit")).body.records).toHaveLength(3);
    expect((await ask("GET", "/audit?action=reveal&actor=ann")).body.records).toMatchObject([
      { actor: "ann", from, action: "reveal", target: entry.id, reason: "INC-17", outcome: "done" },
    ]);
    expect((await ask("GET", "/audit?actor=bob&limit=1")).body).toMatchObject({
      records: [{ action: "delete", count: 1 }],
      cursor: expect.any(String),
    });
    expect((await ask("DELETE", "/audit")).status).toBe(405);
    expect((await ask("GET", "/audit?action=dance")).status).toBe(400);
    expect((await ask("GET", "/audit?colour=red")).status).toBe(400);
  });

  it("are found by the content of their records", async () => {
    const { ask, a } = await startApi();
    const tenant = (value: string) =>
      batchFromJson(
        "logs",
        JSON.stringify({
          resourceLogs: [
            {
              resource: { attributes: [{ key: "env", value: { stringValue: "prod" } }] },
              scopeLogs: [{ logRecords: [{ attributes: [{ key: "tenant", value: { stringValue: value } }] }] }],
            },
          ],
        }),
      );
    const { entry: acme } = await deadLetter(a, { batch: tenant("acme") });
    const { entry: other } = await deadLetter(a, { batch: tenant("other"), reason: "poison" });
    const found = async (query: string) => {
      const { status, body } = await ask("GET", `/dead-letters?order=oldest&${query}`);
      return status === 200 ? body.entries.map(({ id }: Entry) => id) : body.error.message;
    };
    expect(await found("attribute=tenant%3Dacme")).toEqual([acme.id]);
    expect(await found("attribute=env%3Dprod")).toEqual([acme.id, other.id]);
    expect(await found("text=oth")).toEqual([other.id]);
    expect(await found(`where=${encodeURIComponent('attributes["tenant"] == "acme"')}`)).toEqual([acme.id]);
    expect(await found(`where=${encodeURIComponent('dead_letter.reason == "poison"')}`)).toEqual([other.id]);
    expect(await found("where=attributes%5B")).toContain("where");
    expect(await found("text=")).toContain("empty");
    const { body } = await ask("POST", "/dead-letters/purge", { query: { text: "oth" }, dryRun: true });
    expect(body).toEqual({ deleted: 1, dryRun: true });
  });

  it("are grouped by cause, with a trend", async () => {
    const { ask, a, b } = await startApi();
    for (let i = 0; i < 3; i++) await deadLetter(a, { at: Date.now(), signature: "s1" });
    await deadLetter(b, { at: Date.now() - 3_600_000_000, signature: "s2", reason: "poison" });
    const { body } = await ask("GET", "/dead-letters/groups");
    expect(body).toMatchObject({ total: 2, isComplete: true, bucketMs: 60_000 });
    expect(body.groups).toMatchObject([
      { signature: "s1", exporter: "a", entries: 3 },
      { signature: "s2", exporter: "b/x", reason: "poison", entries: 1 },
    ]);
    const sum = (trend: number[]) => trend.reduce((all, each) => all + each, 0);
    expect(body.groups.map(({ trend }: { trend: number[] }) => sum(trend))).toEqual([3, 0]);
    expect((await ask("GET", "/dead-letters/groups?reason=poison")).body.groups).toHaveLength(1);
    expect((await ask("GET", "/dead-letters/groups?exporter=zzz")).status).toBe(404);
    expect((await ask("GET", "/dead-letters/groups?cursor=x")).status).toBe(400);
  });

  it("have statistics", async () => {
    const { ask, a } = await startApi();
    await deadLetter(a);
    expect((await ask("GET", "/dead-letters/stats")).body).toMatchObject({ entries: 1, byExporter: { a: 1 } });
    expect((await ask("GET", "/dead-letters/stats?limit=5")).status).toBe(400);
  });

  it("are deleted one by one, and purged only when something is selected", async () => {
    const { ask, a } = await startApi();
    const { entry } = await deadLetter(a);
    for (let at = 1; at <= 3; at++) await deadLetter(a, { at });
    expect(await ask("DELETE", `/dead-letters/${entry.id}`)).toMatchObject({ status: 200, body: { deleted: 1 } });
    expect((await ask("DELETE", `/dead-letters/${entry.id}`)).status).toBe(404);
    expect((await ask("POST", "/dead-letters/purge", {})).status).toBe(400);
    expect((await ask("POST", "/dead-letters/purge", { query: {} })).status).toBe(400);
    expect((await ask("POST", "/dead-letters/purge", { query: { evnt: "x" } })).status).toBe(400);
    expect((await ask("POST", "/dead-letters/purge", { query: { until: 3 }, dry_run: true })).body).toEqual({
      deleted: 2,
      dryRun: true,
    });
    expect(a.store.stats.failed.entries).toBe(3);
    expect((await ask("POST", "/dead-letters/purge", { query: { until: 3 } })).body.deleted).toBe(2);
    expect((await ask("POST", "/dead-letters/purge", { all: true })).body.deleted).toBe(1);
  });

  it("are exported as lines and imported again, once", async () => {
    const { ask, a } = await startApi();
    for (let i = 0; i < 3; i++) await deadLetter(a, { body: `${i}` });
    const { body: masked } = await ask("GET", "/dead-letters/export?exporter=a");
    expect(masked.trim().split("\n")).toHaveLength(3);
    const query = { exporter: "a" };
    expect((await ask("POST", "/dead-letters/export", { query })).status).toBe(400);
    expect((await ask("POST", "/dead-letters/export", { query: { colour: "red" }, reason: "why" })).status).toBe(400);
    const { body: lines } = await ask("POST", "/dead-letters/export", { query, reason: "moving" });
    expect(lines.trim().split("\n")).toHaveLength(3);
    await ask("POST", "/dead-letters/purge", { all: true });
    const type = { "content-type": "application/x-ndjson" };
    expect((await ask("POST", "/dead-letters/import", lines.replace(/\n$/, ""), type)).body).toEqual({
      imported: 3,
      problems: [],
    });
    expect((await ask("POST", "/dead-letters/import", lines, type)).body).toMatchObject({
      imported: 0,
      problems: [{ line: 1 }, { line: 2 }, { line: 3 }],
    });
    expect((await ask("POST", "/dead-letters/import", masked, type)).body).toMatchObject({
      imported: 0,
      problems: [{ message: expect.stringContaining("--reveal") }, {}, {}],
    });
    expect((await ask("POST", "/dead-letters/import", "nonsense\n", type)).body.problems).toEqual([
      { line: 1, message: expect.stringContaining("cut or changed") },
    ]);
    expect((await ask("GET", "/dead-letters/export?exporter=zzz")).status).toBe(404);
  });

  it("are not exported from a store that is closed", async () => {
    const { ask, a } = await startApi();
    await a.store.close();
    expect(await ask("GET", "/dead-letters/export")).toMatchObject({
      status: 503,
      body: { error: { code: "unavailable" } },
    });
    expect((await ask("GET", "/dead-letters")).status).toBe(503);
  });

  it("are read from the store no faster than the client reads", async () => {
    const { url, a } = await startApi();
    for (let i = 0; i < 400; i++) await deadLetter(a, { body: "x".repeat(100_000) });
    let read = 0;
    const payload = a.store.payload.bind(a.store);
    a.store.payload = (ref) => {
      read++;
      return payload(ref);
    };
    const asked = request(`${url}/dead-letters/export`).end();
    const [response] = await once(asked, "response");
    await once(response, "readable");
    let before = -1;
    while (before !== read) {
      before = read;
      for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(read).toBeLessThan(400);
    response.destroy();
  });
});

describe("replays", () => {
  it("that are quick are answered with their report", async () => {
    const { ask, a } = await startApi();
    const { entry } = await deadLetter(a, { at: Date.now() });
    const dry = await ask("POST", "/dead-letters/replay", { all: true, dry_run: true, by: "ann" });
    expect(dry).toMatchObject({ status: 200, body: { state: "done", dryRun: true, report: { replayed: 1 } } });
    expect(a.store.stats.failed.entries).toBe(1);
    const real = await ask("POST", "/dead-letters/replay", { ids: [entry.id, "nobody-1"], by: "ann" });
    expect(real.body).toMatchObject({
      state: "done",
      done: 2,
      total: 2,
      report: { replayed: 1, skipped: { skip_not_found: 1 } },
    });
    expect((await a.store.find(entry.id))?.entry.cycles[0]?.replayedBy).toBe("ann");
    expect((await ask("GET", `/replays/${real.body.id}`)).body).toEqual({
      ...real.body,
      outcomes: [{ id: entry.id, outcome: "pending" }],
    });
    const { replays } = (await ask("GET", "/replays")).body;
    expect(replays.map(({ id }: { id: string }) => id)).toEqual([real.body.id]);
  });

  it("report the progress of their entries, until all have left their queues", async () => {
    const { ask, a, url, owner, records } = await startApi();
    const ids = [];
    for (let i = 0; i < 2; i++) ids.push((await deadLetter(a, { at: Date.now() })).entry.id);
    const { body } = await ask("POST", "/dead-letters/replay", { ids, by: "ann" });
    expect(body).toMatchObject({ queued: 2, pending: 2, isSettled: false });
    const events = await fetch(`${url}/replays/${body.id}/events`, { headers: owner });
    const [first, second] = await a.store.pending(undefined, 2);
    records.tracker.ended(first!.entry, "delivered");
    records.tracker.ended(second!.entry, "failed_again", failure.error);
    const text = await events.text();
    expect(text).toMatch(/^retry: 2000\n\nevent: progress\n/);
    expect(text).toMatch(/event: settled\ndata: .*"delivered":1,"failedAgain":1/);
    const outcomes = [
      { id: ids[1], outcome: "failed_again" },
      { id: ids[0], outcome: "delivered" },
    ];
    expect((await ask("GET", `/replays/${body.id}`)).body).toMatchObject({ isSettled: true, outcomes });
    expect((await ask("GET", `/dead-letters/${ids[0]}`)).status).toBe(200);
    expect((await ask("GET", "/replays/none/events")).status).toBe(404);
    expect((await ask("POST", `/replays/${body.id}/pause`)).status).toBe(409);
    expect((await ask("POST", "/replays/none/pause")).status).toBe(404);
  });

  it("that are long go on as jobs that can be watched and cancelled", async () => {
    const { ask, a } = await startApi();
    for (let i = 0; i < 5; i++) await deadLetter(a, { at: Date.now() });
    const { status, body } = await ask("POST", "/dead-letters/replay", {
      query: { exporter: "a" },
      by: "ann",
      rate: 0.01,
    });
    expect([status, body.state, body.done, body.total]).toEqual([202, "running", 1, 5]);
    expect((await ask("DELETE", `/replays/${body.id}`)).status).toBe(200);
    for (;;) {
      const job = (await ask("GET", `/replays/${body.id}`)).body;
      if (job.state === "running") continue;
      expect(job).toMatchObject({ state: "cancelled", report: { replayed: 1 } });
      break;
    }
    expect((await ask("GET", "/replays/none")).status).toBe(404);
  });

  it.each([
    [{}, "nothing is selected"],
    [{ by: "ann" }, "nothing is selected"],
    [{ by: "", all: true }, "by:"],
    [{ by: "ann", ids: [] }, "no ids"],
    [{ by: "ann", ids: ["x"], all: true }, "not both"],
    [{ by: "ann", all: true, rate: -1 }, "rate"],
    [{ by: "ann", query: { reason: "bored" } }, "is unknown"],
    [{ by: "ann", query: { cursor: "x" } }, "cursor"],
    [{ by: "ann", alll: true }, "alll"],
  ])("are refused for %j", async (body, message) => {
    const { ask } = await startApi();
    const answer = await ask("POST", "/dead-letters/replay", body);
    expect(answer).toMatchObject({ status: 400, body: { error: { message: expect.stringContaining(message) } } });
    expect((await ask("GET", "/replays")).body.replays).toEqual([]);
  });
});

describe("the API", () => {
  it("identifies itself, and answers 404 elsewhere", async () => {
    const { ask, url, owner } = await startApi();
    const { body } = await ask("GET", "", undefined, { authorization: "" });
    expect(body).toEqual({ name: "sluice", api: 1, token_file: expect.stringMatching(/admin-token$/) });
    const asked = (address: string, method = "GET") => fetch(address, { method, headers: { ...owner } });
    expect((await asked(url.replace("/api/v1", "/api"))).status).toBe(404);
    expect((await asked(url.replace("/api/v1", "/api/v10"))).status).toBe(404);
    expect((await asked(`${url}/dead-letters/purge`)).status).toBe(404);
    expect((await asked(`${url}/exporters`, "DELETE")).headers.get("allow")).toBe("GET");
  });

  it("is unavailable as long as there are no queues", async () => {
    const { ask, host } = await startApi();
    host.admin = undefined;
    expect(await ask("GET", "/dead-letters")).toMatchObject({ status: 503, body: { error: { code: "unavailable" } } });
    expect((await ask("GET", "/")).status).toBe(200);
  });

  it("hides internal errors, and logs them", async () => {
    const { ask, a, said } = await startApi();
    a.store.failed = () => Promise.reject(new Error("secret detail"));
    const answer = await ask("GET", "/dead-letters");
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([500, expect.not.stringContaining("secret")]);
    expect(said).toContainEqual(expect.objectContaining({ level: "error", message: "the admin API failed" }));
  });

  it.each([
    [{ host: "evil.example" }, 403],
    [{ host: "evil.example:55679" }, 403],
    [{ host: "localhost:1" }, 200],
    [{ host: "[::1]:1" }, 200],
    [{ host: "sluice.internal" }, 200],
    [{ origin: "https://evil.example" }, 403],
    [{ origin: "null" }, 403],
    [{ "sec-fetch-site": "cross-site" }, 403],
    [{ "sec-fetch-site": "same-origin" }, 200],
  ])("answers a request with %j with %i", async (headers, status) => {
    const { ask } = await startApi({ endpoint: "127.0.0.1:0", allowed_hosts: ["sluice.internal"] });
    expect((await ask("GET", "/exporters", undefined, headers)).status).toBe(status);
  });

  it("refuses foreign host names and pages, and forms of other sites, on every route", async () => {
    const { ask } = await startApi();
    for (const { method, path, contentType } of ROUTES) {
      const place = path.replace(/:\w+/g, "x");
      const status = async (headers: Record<string, string>) => {
        const body = method === "POST" ? "{}" : undefined;
        return (await ask(method, place, body, { "content-type": contentType ?? "application/json", ...headers }))
          .status;
      };
      expect([path, await status({ host: "evil.example" })]).toEqual([path, 403]);
      expect([path, await status({ origin: "https://evil.example" })]).toEqual([path, 403]);
      expect([path, await status({ "sec-fetch-site": "cross-site" })]).toEqual([path, 403]);
      if (method === "POST") expect([path, await status({ "content-type": "text/plain" })]).toEqual([path, 415]);
    }
  });

  it("accepts changes only in a form that pages of other sites cannot send, and sends no CORS header", async () => {
    const { ask, url, a, owner } = await startApi();
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]) {
      expect((await ask("POST", "/exporters/a/pause", "{}", { "content-type": type })).status).toBe(415);
    }
    const preflight = await fetch(`${url}/exporters/a/pause`, { method: "OPTIONS", headers: { ...owner } });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin"), a.paused]).toEqual([
      405,
      null,
      false,
    ]);
    expect(
      (await ask("POST", "/exporters/a/pause", "{}", { "content-type": "application/json; charset=utf-8" })).status,
    ).toBe(200);
  });

  it("refuses a body that is too large", async () => {
    const { ask } = await startApi();
    const answer = await ask("POST", "/dead-letters/replay", { by: "x".repeat(2_000_000) });
    expect(answer).toMatchObject({ status: 413, body: { error: { code: "too_large" } } });
  });
});

describe("the extension admin", () => {
  async function occupied(port: number): Promise<number> {
    const server = createServer();
    await new Promise<void>((resolve, reject) =>
      server.once("error", reject).listen(port, "127.0.0.1", () => resolve()),
    );
    onTestFinished(() => void server.close());
    return (server.address() as AddressInfo).port;
  }

  it("treats a port in use as a warning for the default port, else as an error with its place", async () => {
    const port = await occupied(0);
    const failed = await startApi({ endpoint: `127.0.0.1:${port}` }).catch((error: unknown) => error);
    expect(isStartError(failed) && failed.path).toEqual(["endpoint"]);
    await occupied(55679).catch(() => 0);
    const { said } = await startApi({});
    expect(said).toMatchObject([{ level: "warn", message: expect.stringContaining("runs without its admin API") }]);
  });

  it("warns when it can be reached from other machines", async () => {
    const { said } = await startApi({ endpoint: "0.0.0.0:0" });
    expect(said).toContainEqual(
      expect.objectContaining({ level: "warn", message: expect.stringContaining("in plain text") }),
    );
  });

  it("refuses an invalid endpoint", () => {
    expect(adminApi.schema.safeParse({ endpoint: "here" }).success).toBe(false);
  });
});
