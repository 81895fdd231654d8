import type { ImportReport } from "#contract/operations";
import type { EntryOwners } from "./entry-owners.js";
import type { WorkerGroup } from "./worker-group.js";

/** A worker reports the problems of all lines of a chunk, if there are not more than these. */
const CHUNK_LINES = 64;
const MAX_CHUNK_LENGTH = 1024 * 1024;
const MAX_PROBLEMS = 100;

/** Imports dead letters into the first worker, except those that another worker has. */
export async function importInto(
  group: WorkerGroup,
  owners: EntryOwners,
  lines: AsyncIterable<string>,
): Promise<ImportReport> {
  const problems: { line: number; message: string }[] = [];
  let omitted = 0;
  let imported = 0;
  let done = 0;
  const report = (line: number, message: string) => {
    if (problems.length < MAX_PROBLEMS) problems.push({ line, message });
    else omitted++;
  };
  for await (const chunk of chunksOf(lines)) {
    const ids = chunk.map(idOf);
    const { owners: found } = await owners.ofAll(ids.filter((id) => id !== undefined));
    const isElsewhere = (id: string | undefined) => {
      const owner = id === undefined ? undefined : found.get(id);
      return owner !== undefined && owner.worker !== group.first && owner.place !== "delivered";
    };
    // An empty line is skipped, and the others keep their numbers.
    const own = chunk.map((line, index) => (isElsewhere(ids[index]) ? "" : line));
    const request = () => ({ name: "importDeadLetters", args: [own] });
    const [answer] = await group.change<ImportReport>(request, [group.first]);
    const elsewhere = ids.flatMap((id, index) =>
      isElsewhere(id) ? [{ line: index + 1, message: `entry ${id} exists already` }] : [],
    );
    const all = [...answer!.value.problems, ...elsewhere].sort((a, b) => a.line - b.line);
    for (const { line, message } of all) report(done + line, message);
    imported += answer!.value.imported;
    done += chunk.length;
  }
  const last = problems.at(-1);
  if (omitted > 0 && last) problems.push({ line: last.line, message: `and ${omitted} more lines have problems` });
  return { imported, problems };
}

/** The worker finds out what is wrong with a line that has none. */
function idOf(line: string): string | undefined {
  try {
    const { entry } = JSON.parse(line) as { entry?: { id?: unknown } };
    return typeof entry?.id === "string" ? entry.id : undefined;
  } catch {
    return undefined;
  }
}

async function* chunksOf(lines: AsyncIterable<string>): AsyncGenerator<readonly string[]> {
  let chunk: string[] = [];
  let length = 0;
  for await (const line of lines) {
    chunk.push(line);
    length += line.length;
    if (chunk.length < CHUNK_LINES && length < MAX_CHUNK_LENGTH) continue;
    yield chunk;
    chunk = [];
    length = 0;
  }
  if (chunk.length > 0) yield chunk;
}
