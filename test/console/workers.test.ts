import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { hasBrowser, pagesOfTests, takePicture } from "./browser.js";
import { CONSOLE_TOKEN, type ConsoleAgent, startConsoleAgent } from "./console-agent.js";

const openPage = pagesOfTests();
let agent: ConsoleAgent;

beforeAll(async () => {
  if (hasBrowser) agent = await startConsoleAgent({ service: "workers: 2" });
});

afterAll(async () => {
  await agent?.stop();
});

describe.skipIf(!hasBrowser)("the exporters page of an agent with two workers", () => {
  it("lists the workers, and says how one ended that was started again", async () => {
    const page = await openPage(`${agent.url}/#/exporters`, CONSOLE_TOKEN);
    const second = page.getByRole("row", { name: "worker 2" });
    await second.getByText("ready", { exact: true }).waitFor();
    const { workers } = await agent.api<{ workers: readonly { worker: number; pid: number }[] }>("/workers");
    process.kill(workers.find(({ worker }) => worker === 2)!.pid, "SIGKILL");
    await second.getByText(/SIGKILL/).waitFor();
    await until(async () => expect(await second.locator("td.number").textContent()).toBe("1"));
    await second.getByText("ready", { exact: true }).waitFor();
    expect(await page.getByRole("row", { name: "worker 1" }).getByText("never").count()).toBe(1);
    await takePicture(page, "workers");
  });
});
