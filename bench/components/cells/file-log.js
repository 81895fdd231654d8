import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plainLine } from "../foreign-load.js";
import { component, openIntake } from "../kit.js";

const LINES = 20_000;

/** @type {Record<string, import("../cells.js").Cell>} */
export const FILE_LOG_CELLS = {
  "file_log, lines as they are": {
    of: "receiver/file_log",
    unit: "record",
    base: "reading the file and looking for its lines",
    start: startReading,
  },
};

/** A turn is a new receiver that reads a file from its beginning. @returns {Promise<import("../cells.js").Running>} */
async function startReading() {
  const folder = await mkdtemp(join(tmpdir(), "sluice-bench-"));
  const file = join(folder, "app.log");
  await writeFile(file, `${Array.from({ length: LINES }, (_, i) => plainLine(i)).join("\n")}\n`);
  let turns = 0;
  let count = 0;
  const turn = async () => {
    const wanted = count + LINES;
    /** @type {(value?: unknown) => void} */
    let done = () => {};
    const isRead = new Promise((resolve) => (done = resolve));
    const logs = openIntake((batch) => {
      count += batch.count;
      if (count >= wanted) done();
    });
    const keys = { include: [file], start_at: "beginning", offsets_directory: join(folder, `offsets-${turns++}`) };
    const receiver = await component("receiver/file_log", keys, { intakes: { logs } });
    await receiver.start();
    await isRead;
    await receiver.stop();
    return LINES;
  };
  const bareTurn = async () => {
    const text = await readFile(file);
    let lines = 0;
    for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1)) lines++;
    return lines;
  };
  return {
    turn,
    count: () => count,
    bare: { turn: bareTurn },
    stop: () => rm(folder, { recursive: true, force: true }),
  };
}
