import { describe, expect, it } from "vitest";
import { sluice } from "../../cli/dlq/support.js";
import { startRehearsedAgent } from "./rehearsed-agent.js";

const FILTER = { processors: `filter: {logs: {log_record: ['body == "drop"']}}`, use: "filter" };

describe("a rehearsal in a running agent", () => {
  it("compares the files with the config that runs, and changes nothing", async () => {
    const agent = await startRehearsedAgent();
    agent.write(FILTER);
    const { report, state, failed, generation } = await agent.rehearse({ seconds: 1, share: 1, fail_on: ["drop>1%"] });
    expect([state, failed]).toEqual(["done", ["drop>1%"]]);
    const { sample, total } = report!;
    expect(total.before.records).toBe(sample.records);
    expect(total.dropped).toBe(sample.records / 2);
    expect(JSON.stringify(report)).toContain('"body":"drop"');
    expect(JSON.stringify(report)).not.toContain("ann@");
    const { body: config } = await agent.request("GET", "/config");
    expect(config).toMatchObject({ generation: { number: 1, hash: generation.before }, differs: true });
    expect(generation.after).not.toBe(generation.before);
  });

  it("ends as soon as the config is reloaded, and another one can begin", async () => {
    const agent = await startRehearsedAgent();
    agent.write(FILTER);
    await agent.request("POST", "/config/rehearsal", { seconds: 600, share: 1 });
    const { body } = await agent.request("POST", "/config/reload", {});
    expect(body.outcome).toBe("applied");
    const { rehearsal } = (await agent.request("GET", "/config/rehearsal")).body;
    expect(rehearsal).toMatchObject({
      state: "failed",
      error: expect.stringContaining("was reloaded during the rehearsal"),
    });
    expect((await agent.rehearse()).state).toBe("done");
  });
});

describe("sluice reload --rehearse", () => {
  it("reloads what was rehearsed if nobody objects", async () => {
    const agent = await startRehearsedAgent();
    agent.write(FILTER);
    const args = ["reload", "--rehearse", "--for", "1s", "--sample-rate", "100%", "--api", agent.url];
    const refused = await sluice([...args, "--fail-on", "drop>1%", "--yes"]);
    expect(refused).toMatchObject({ code: 3, err: "sluice: the rehearsal failed: drop>1%\n" });
    expect(refused.out).toMatch(/^\d+ dropped\./m);
    const declined = await sluice(args, { answer: "n" });
    expect(declined).toMatchObject({ code: 0, asked: ["Reload now? [y/N] "] });
    expect((await agent.request("GET", "/config")).body).toMatchObject({ generation: { number: 1 } });
    expect(await sluice(args)).toMatchObject({ code: 2, err: expect.stringContaining("cannot ask here; add --yes") });
    const agreed = await sluice(args, { answer: "y" });
    expect(agreed).toMatchObject({ code: 0, out: expect.stringContaining("The new config runs.") });
    const again = await sluice([...args, "--yes", "--json"]);
    expect(JSON.parse(again.out)).toMatchObject({
      rehearsal: { state: "done", report: { total: { dropped: 0 } } },
      reload: { outcome: "unchanged" },
    });
    expect((await agent.request("GET", "/config")).body).toMatchObject({ generation: { number: 2 }, differs: false });
  });
});
