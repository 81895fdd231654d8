import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { hasBrowser, pagesOfTests } from "../console/browser.js";
import { adminToken } from "../support/agent-process.js";
import type { OtlpSink } from "../support/otlp-sink.js";
import { logBatch } from "../support/sampled.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { notYet, row } from "./row.js";
import { startBackendSink } from "./support/parallel-pipelines.js";
import { namesIn, type StartedAgent, startAgent } from "./support/started-agent.js";

/** An agent with dead letters of these events, and the backend that has refused them. */
async function refusedEvents(...names: readonly string[]): Promise<{ agent: StartedAgent; sink: OtlpSink }> {
  const sink = await startBackendSink();
  sink.respond((_, response) => response.writeHead(400).end("tenant 7 is unknown"));
  const agent = await startAgent(`
exporters: {otlp_http: {endpoint: "${sink.url}", sending_queue: {merge_backlog: false}}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}
`);
  for (const event of names) await agent.send(logBatch([{ event, body: `${event} of anna@example.com` }]));
  const count = () => agent.metric("sluice_dead_letters_entries");
  await expect.poll(count).toBe(names.length);
  return { agent, sink };
}

interface Listed {
  readonly entries: readonly { readonly id: string; readonly failure: { readonly names: readonly string[] } }[];
}

row(
  "O1",
  "lists, shows, replays, deletes, purges, exports and counts dead letters, for people and as JSON",
  "CLI: list, show, replay, delete, purge, export, stats of dead letters, human and --json output [foodies phase 5, adr54 D6].",
  async () => {
    const { agent, sink } = await refusedEvents("order.paid", "order.sent", "chat.said", "chat.left");
    const dlq = (...words: string[]) => agent.sluice("dlq", ...words);
    const json = async <T>(...words: string[]) => JSON.parse(await dlq(...words, "--json")) as T;
    const left = async () => (await json<Listed>("list")).entries.map(({ failure }) => failure.names[0]).sort();

    const { entries } = await json<Listed>("list");
    const idOf = (name: string) => entries.find(({ failure }) => failure.names[0] === name)!.id;
    expect(await left()).toEqual(["chat.left", "chat.said", "order.paid", "order.sent"]);
    expect((await json<Listed>("list", "--event", "order.*")).entries.length).toBe(2);
    const table = await dlq("list");
    for (const { id } of entries) expect(table).toContain(id);
    expect(table).toContain("HTTP 400: tenant 7 is unknown");

    expect(await dlq("stats")).toContain("4 dead letters, 4 items");
    expect(await json("stats")).toMatchObject({ entries: 4, items: 4 });
    expect(await dlq("show", idOf("order.paid"))).toContain("tenant 7 is unknown");
    expect(await json("show", idOf("order.paid"))).toMatchObject({
      entry: { id: idOf("order.paid"), failure: { reason: "permanent" } },
    });
    const payload = await dlq("show", idOf("order.paid"), "--payload");
    expect(payload).toContain("order.paid of ****");
    expect(payload).not.toContain("anna@example.com");

    const file = join(temporaryFolder(), "dead-letters.jsonl");
    await dlq("export", "--event", "order.*", "--reveal", "--why", "moved to another agent", "--out", file);
    const exported = readFileSync(file, "utf8").trim().split("\n");
    expect(exported.length).toBe(2);
    expect(exported.map((line) => JSON.parse(line) as object)).toEqual(
      expect.arrayContaining([expect.objectContaining({})]),
    );

    await dlq("delete", idOf("chat.said"), "--yes");
    expect(await left()).toEqual(["chat.left", "order.paid", "order.sent"]);
    await dlq("purge", "--event", "chat.*", "--yes");
    expect(await left()).toEqual(["order.paid", "order.sent"]);

    sink.respond(undefined);
    expect(await json("replay", "--all", "--dry-run")).toMatchObject({ replayed: 2 });
    expect(sink.count).toBe(0);
    await dlq("replay", idOf("order.paid"), "--by", "ann", "--wait");
    expect(namesIn(sink)).toEqual(["order.paid"]);
    expect(await json("replay", "--all", "--by", "ann", "--wait")).toMatchObject({ replayed: 1 });
    expect([namesIn(sink), await left()]).toEqual([["order.paid", "order.sent"], []]);
  },
);

const openPage = pagesOfTests();

row(
  "O2",
  "shows the live pipeline, and finds, shows, replays and deletes dead letters in a browser",
  "A web console for the same, and for the live pipeline.",
  async () => {
    const { agent, sink } = await refusedEvents("order.paid", "order.sent", "chat.said");
    const page = await openPage(`${agent.admin}/#/pipelines`, await adminToken(agent.admin));
    const rates = async () => (await page.locator("svg .rate").allTextContents()).join(" ");
    // The live pipeline: what is sent now shows as a rate.
    await expect
      .poll(async () => {
        await agent.send(logBatch([{ event: "chat.more" }]));
        return /[1-9][.\d]*\/s/.test(await rates());
      })
      .toBe(true);
    for (const name of ["receiver otlp", "exporter otlp_http"])
      await page.getByRole("link", { name, exact: true }).waitFor();

    // The causes, one entry with its error and masked payload.
    await agent.sluice("dlq", "purge", "--event", "chat.*", "--yes");
    const { entries } = await agent.api<Listed>("/dead-letters");
    await page.goto(`${agent.admin}/#/failures/${entries[0]!.id}`);
    await page.getByText("tenant 7 is unknown").first().waitFor();
    const payload = page.locator(".payload");
    await payload.getByText("****").first().waitFor();
    expect(await payload.innerText()).not.toContain("anna@example.com");

    // One is deleted.
    await page.goto(`${agent.admin}/#/failures?view=entries`);
    await page.locator("tbody tr").filter({ hasText: "order.sent" }).getByRole("checkbox").check();
    await page.getByRole("button", { name: /^Delete 1 chosen/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Deleted 1 dead letter").waitFor();

    // A replay of the rest, after a dry run.
    sink.respond(undefined);
    await page.goto(`${agent.admin}/#/failures`);
    await page.getByRole("link", { name: "Replay…" }).click();
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByText("would be replayed").waitFor();
    expect(sink.count).toBe(0);
    await page.getByRole("button", { name: "Start replay of 1" }).click();
    await page.getByText("all delivered").waitFor();
    expect(namesIn(sink)).toEqual(["order.paid"]);
    expect((await agent.api<Listed>("/dead-letters")).entries).toEqual([]);
  },
  { needs: { Chromium: hasBrowser } },
);

notYet(
  "O3",
  "names the rule and place of every drop, and answers why for one record or trace",
  'Every drop names its rule and place; an operator can ask why for one record or trace, and gets an answer or "unknown".',
  "there is no `sluice why` yet; dead letters name their rule, other drops are only counted",
);
