import { join } from "node:path";
import { directoryNameOf } from "../../src/runtime/queue/operate/directory-name.js";
import { LevelStore } from "../../src/runtime/queue/store/level-store.js";
import { failedEntry, newEntry } from "../runtime/queue/store/entries.js";

/** Written together, so that they share a commit. */
const TOGETHER = 2000;

/** Fills the queue of an exporter with dead letters of so many causes, as an agent that was down for long has them. */
export async function fillWithDeadLetters(
  queues: string,
  { exporter, entries, causes }: { exporter: string; entries: number; causes: number },
): Promise<void> {
  const directory = join(queues, directoryNameOf(exporter));
  const store = new LevelStore({ exporter, directory, durability: "process", intervalMs: 10 });
  await store.open();
  const now = Date.now();
  for (let first = 0; first < entries; first += TOGETHER) {
    const numbers = Array.from({ length: Math.min(TOGETHER, entries - first) }, (_, n) => first + n);
    const { ref } = await store.put(newEntry("gives way"));
    await store.replace(
      ref,
      numbers.map((n) => deadLetter(n, causes, now - (entries - n) * 10)),
    );
  }
  await store.close();
}

function deadLetter(n: number, causes: number, at: number) {
  const cause = n % causes;
  const fresh = newEntry(`record ${n} of cause ${cause}`);
  const { failure, state } = failedEntry({ history: [] } as never);
  const error = {
    ...failure!.error,
    class: `HTTP 4${String(cause).padStart(3, "0")}`,
    message: `refused for cause ${cause}`,
  };
  return {
    ...fresh,
    fields: { state, failure: { ...failure!, at, error, signature: `cause-${cause}` } },
  };
}
