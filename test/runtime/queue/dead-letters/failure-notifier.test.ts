import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { type QueueOptions, refusing, startQueue } from "../queue.js";

interface Notification {
  readonly text: string;
  readonly tags: Record<string, string>;
  readonly extra: { readonly failed: number; readonly entries: readonly Record<string, unknown>[] };
}

/** A webhook that keeps its requests. */
async function startWebhook(status = 200) {
  const told: Notification[] = [];
  const headers: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => void (body += chunk));
    request.on("end", () => {
      told.push(JSON.parse(body) as Notification);
      headers.push(request.headers.authorization);
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { told, headers, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

async function startNotifying(url: string, options: QueueOptions = {}) {
  const notify = { url, headers: { Authorization: "Bearer x" }, interval: "60s" };
  return startQueue({ settings: { dead_letter: { notify } }, backend: refusing(() => true), ...options });
}

describe("a webhook", () => {
  it("learns of the first failure at once, and of the following ones together", async () => {
    const hook = await startWebhook();
    const queue = await startNotifying(hook.url);
    queue.send("secret words");
    await queue.settle();
    queue.clock.advance(0);
    await expect.poll(() => hook.told.length).toBe(1);
    expect(hook.told[0]).toMatchObject({
      text: "1 entry of out could not be delivered (permanent): HTTP 400: bad record secret words",
      level: "error",
      tags: { exporter: "out", reason: "permanent", category: "schema", error_class: "HTTP 400" },
      extra: { failed: 1, entries: [{ pipeline: "logs", signal: "logs", items: 1 }] },
    });
    expect(hook.headers).toEqual(["Bearer x"]);
    for (let i = 0; i < 7; i++) queue.send("secret words");
    await queue.pass(59_999);
    expect(hook.told).toHaveLength(1);
    await queue.pass(1);
    await expect.poll(() => hook.told.length).toBe(2);
    expect([hook.told[1]!.extra.failed, hook.told[1]!.extra.entries.length]).toEqual([7, 5]);
    await expect.poll(() => queue.metrics.value("sluice_dead_letter_notifications", { result: "sent" })).toBe(2);
  });

  it("learns of the remaining failures when the agent stops", async () => {
    const hook = await startWebhook();
    const queue = await startNotifying(hook.url);
    queue.send("a");
    await queue.settle();
    await queue.outlet.stop();
    expect(hook.told).toHaveLength(1);
  });

  it("that fails is counted and logged, and nothing else", async () => {
    const hook = await startWebhook(500);
    const queue = await startNotifying(hook.url);
    queue.send("a");
    await queue.settle();
    await queue.outlet.stop();
    expect(queue.metrics.value("sluice_dead_letter_notifications", { result: "failed" })).toBe(1);
    expect(queue.lines.map(({ message }) => message)).toContain(
      "the notification about dead letters failed (dead_letter.notify)",
    );
  });
});
