import { setTimeout as delay } from "node:timers/promises";
import { TOKEN } from "./slow-disk-config.js";

/** What operators see of an agent's queue, by its admin API. */
export interface DeadLetterViews {
  /** Entries that are not dead letters. */
  pending(): Promise<number>;
  /** Dead letters by the counters of the queue. */
  counted(): Promise<number>;
  /** The ids of all dead letters, page by page. */
  listed(): Promise<string[]>;
  shown(id: string): Promise<{ readonly id: string; readonly state: string }>;
  /** How many a replay of all would put back. */
  replayable(): Promise<number>;
}

export function viewsOf(port: number): DeadLetterViews {
  const get = (path: string) => ask(port, path);
  const queue = async () => (await get("/exporters")).exporters[0];
  return {
    pending: async () => (await queue()).queue.entries,
    counted: async () => (await queue()).deadLetters.entries,
    async listed() {
      const ids: string[] = [];
      for (let cursor = ""; ; ) {
        const page = await get(`/dead-letters?limit=100${cursor}`);
        ids.push(...page.entries.map(({ id }: { id: string }) => id));
        if (page.cursor === undefined) return ids;
        cursor = `&cursor=${encodeURIComponent(page.cursor)}`;
      }
    },
    shown: async (id) => (await get(`/dead-letters/${id}`)).entry,
    async replayable() {
      let job = await ask(port, "/dead-letters/replay", { all: true, by: "chaos", dry_run: true });
      for (; job.state === "running"; job = await get(`/replays/${job.id}`)) await delay(20);
      return job.report?.replayed ?? 0;
    },
  };
}

async function ask(port: number, path: string, body?: unknown) {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, init);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  const answer = (await response.json()) as any;
  if (!response.ok) throw new Error(answer.error.message);
  return answer;
}
