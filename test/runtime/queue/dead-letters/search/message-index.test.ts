import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MessageIndexes } from "../../../../../src/runtime/queue/dead-letters/search/message-index.js";
import type { StoredEntry } from "../../../../../src/runtime/queue/store/store.js";
import { runs } from "../../../../support/runs.js";
import { control, type FakeControl } from "../../operate/controls.js";
import { failedEntry, newEntry } from "../../store/entries.js";

const MESSAGES = ["1", "2", "3"];

async function addFailed({ store }: FakeControl, message: string | undefined): Promise<void> {
  const source = { receiver: "outbox", transport: "postgresql", ...(message !== undefined && { message }) };
  const { ref, entry } = await store.put({ ...newEntry("x"), source });
  await store.fail(ref, failedEntry(entry));
}

type Step = { readonly queue: 0 | 1; readonly act: "add" | "replay" | "delete" | "find"; readonly message: number };

const steps = fc.array(
  fc.record<Step>({
    queue: fc.constantFrom(0, 1),
    act: fc.constantFrom("add", "add", "replay", "delete", "find"),
    message: fc.nat(MESSAGES.length),
  }),
  { maxLength: 40 },
);

async function deadLetters({ store }: FakeControl, message: string | undefined): Promise<StoredEntry[]> {
  const stored = await store.failed(undefined, 1000, "oldest");
  return stored.filter(({ entry }) => entry.source.message === message);
}

describe("the dead letters of a message", () => {
  it("are found in all queues, whatever was added, replayed and deleted before", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const queues = [await control("a"), await control("b")];
        const indexes = new MessageIndexes(new Map(queues.map((queue) => [queue.id, queue])));
        for (const { queue, act, message: number } of all) {
          const message = MESSAGES[number];
          const { store } = queues[queue]!;
          const [first] = await deadLetters(queues[queue]!, message);
          if (act === "add") await addFailed(queues[queue]!, message);
          if (act === "replay" && first !== undefined) await store.replay([{ ...first }]);
          if (act === "delete" && first !== undefined) await store.delete([first.ref]);
          if (act !== "find" || message === undefined) continue;
          const found = await indexes.find("outbox", message);
          const there = [...(await deadLetters(queues[0]!, message)), ...(await deadLetters(queues[1]!, message))];
          expect(found.map(({ id }) => id)).toEqual(there.map(({ entry }) => entry.id));
          expect(await indexes.find("outbox/2", message)).toEqual([]);
        }
      }),
      runs(100),
    );
  });
});
