import { constants } from "node:fs";
import { access, mkdir } from "node:fs/promises";
import { z } from "zod";
import { StartError } from "../../plugin.js";

export const directorySchema = z
  .string()
  .min(1, "expected a directory such as ./data/queue")
  .default("./data/queue")
  .meta({ description: "Where the sending queues are kept, one directory for each exporter." });

/** Makes the directory if need be; throws a `StartError` that names the key when it cannot be used. */
export async function prepareDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true });
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const hint = "choose another with extensions: reliability: directory:, or turn queues off with sending_queue";
    throw new StartError(`the directory ${path} cannot be used (${code ?? message}); ${hint}`, ["directory"], {
      cause: error,
    });
  }
}
