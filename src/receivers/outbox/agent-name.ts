import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { makePrivateDirectory, PRIVATE_FILE_MODE } from "#system";
import { type Logger, StartError } from "../../plugin.js";

/**
 * The name by which an agent claims rows: `name` stays the same over restarts, `process` is new each time. Rows that an
 * earlier process of the same name has claimed are in the queues of this agent.
 */
export interface AgentName {
  readonly name: string;
  readonly process: string;
}

const NAME = /^[\x21-\x7e]{1,200}$/;

/** Reads the agent's name from its file, and writes the file the first time. An empty directory means a new name. */
export async function loadAgentName(directory: string, receiver: string, logger: Logger): Promise<AgentName> {
  const process = randomBytes(4).toString("hex");
  if (directory === "") return { name: newName(), process };
  const path = join(directory, `${encodeURIComponent(receiver)}.agent`);
  try {
    await makePrivateDirectory(directory);
    const known = (await readFile(path, "utf8").catch(ifMissing)).trim();
    if (NAME.test(known)) return { name: known, process };
    if (known !== "") logger.warn({ path }, "the file with the agent's name is damaged; it gets a new name");
    const name = newName();
    await writeFile(path, `${name}\n`, { mode: PRIVATE_FILE_MODE });
    return { name, process };
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new StartError(`the name of the agent cannot be kept in ${path} (${why})`, ["directory"], { cause: error });
  }
}

function newName(): string {
  return `${hostname().replaceAll(/[^\x21-\x7e]|[:#]/g, "-")}-${randomBytes(6).toString("hex")}`;
}

function ifMissing(error: NodeJS.ErrnoException): string {
  if (error.code === "ENOENT") return "";
  throw error;
}
