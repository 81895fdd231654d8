import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { hasBrowser, pagesOfTests, sidewaysScroll, takePicture } from "./browser.js";
import { CONSOLE_TOKEN, type ConsoleAgent, startConsoleAgent } from "./console-agent.js";

let agent: ConsoleAgent;
const openPage = pagesOfTests();

beforeAll(async () => {
  if (!hasBrowser) return;
  agent = await startConsoleAgent();
  for (const body of ["first", "second"]) await agent.sendLog(`${body} of alice@example.com`);
  await until(async () => expect(await deadLetters()).toHaveLength(2));
});

afterAll(async () => {
  await agent?.stop();
});

async function deadLetters() {
  return (await agent.api<{ entries: readonly { id: string }[] }>("/dead-letters")).entries;
}

describe.skipIf(!hasBrowser)("a payload in the console", () => {
  it("is masked until somebody says why it must be seen, which the audit keeps", async () => {
    const [{ id }] = (await deadLetters()) as [{ id: string }];
    const page = await openPage(`${agent.url}/#/failures/${id}`, CONSOLE_TOKEN);
    const payload = page.locator(".payload");
    await payload.getByText("masked", { exact: true }).waitFor();
    await payload.getByText("body").waitFor();
    expect(await payload.innerText()).not.toContain("alice@example.com");
    await payload.getByRole("button", { name: "Reveal…" }).click();
    const reveal = page.getByRole("dialog").getByRole("button", { name: "Reveal" });
    expect(await reveal.isDisabled()).toBe(true);
    await page.getByLabel("Reason").fill("the backend asks which customer");
    await reveal.click();
    await payload.getByText("alice@example.com").waitFor();
    await page.getByRole("link", { name: "Audit" }).click();
    await page.getByRole("cell", { name: "the backend asks which customer" }).waitFor();
  });
});

describe.skipIf(!hasBrowser)("a replay in the console", () => {
  it("goes from the cause over a dry run to the backend", async () => {
    const page = await openPage(`${agent.url}/#/failures`, CONSOLE_TOKEN);
    await page.getByRole("link", { name: "Replay…" }).click();
    const start = page.getByRole("button", { name: /Start replay/ });
    expect(await start.isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByText("would be replayed").waitFor();
    await takePicture(page, "replay-dry-run");
    expect(agent.sinks.bad.count).toBe(0);
    agent.sinks.bad.respond(undefined);
    // After any change of a replay, the console tries it again before it starts it.
    await page.getByLabel(/Reason/).fill("the backend is mended");
    expect(await start.isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByRole("button", { name: "Start replay of 2" }).click();
    await page.getByText("Replay of 2").waitFor();
    await page.getByText("all delivered").waitFor();
    await page.getByText("none: as fast as the backend takes them").waitFor();
    await page
      .getByRole("region", { name: "Causes" })
      .getByText(/^2 entries: HTTP 400/)
      .waitFor();
    await takePicture(page, "replay");
    await until(() => expect(agent.sinks.bad.count).toBe(2));
    await page.getByRole("link", { name: "Replays" }).click();
    await page.getByRole("cell", { name: "console" }).first().waitFor();
    await page
      .getByRole("row", { name: /HTTP 400/ })
      .getByText("<script>alert(2)</script>")
      .waitFor();
    await page.getByRole("link", { name: "HTTP 400" }).click();
    await page.getByText("Replay of 2").waitFor();
    expect(await deadLetters()).toEqual([]);
    await page.getByRole("link", { name: "Audit" }).click();
    await page.getByText(/replayed 2 dead letters of otlp_http\/bad/).waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await sidewaysScroll(page)).toBe(0);
  });

  it("tells the navigation at once when all are delivered", async () => {
    agent.sinks.bad.respond((_, response) => response.writeHead(400).end("not yet"));
    await agent.sendLog("one more");
    await until(async () => expect(await deadLetters()).toHaveLength(1));
    const page = await openPage(`${agent.url}/#/replay/new?all=true`, CONSOLE_TOKEN);
    // Without intervals, the page loads nothing again by itself.
    await page.addInitScript("window.setInterval = () => 0");
    await page.reload();
    const link = page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: /^Failures/ });
    await expect.poll(() => link.getAttribute("aria-label")).toBe("Failures, 1 dead letter");
    await page.getByRole("button", { name: "Dry run" }).click();
    agent.sinks.bad.respond(undefined);
    await page.getByRole("button", { name: "Start replay of 1" }).click();
    await page.getByText("all delivered").waitFor();
    await expect.poll(() => link.getAttribute("aria-label")).toBe(null);
  });
});
