import { open, rm } from "node:fs/promises";
import { PRIVATE_FILE_MODE } from "#system";
import { encodeSampled, SAMPLE_MAGIC } from "../../rehearsal/sample-file.js";
import { positionalArguments } from "../agent/report.js";
import { withAgent } from "../agent/with-agent.js";
import type { CommandContext } from "../command.js";
import { pluralize, roughByteSize } from "../print/text.js";
import { EXIT } from "../terminal.js";
import { liveSample, type SampleEvent, sampleRequest } from "./live-sample.js";

/** `sluice tap --record FILE` */
export function recordSample(context: CommandContext): Promise<number> {
  const file = context.values["record"] as string;
  const request = sampleRequest(context, positionalArguments(context));
  return withAgent(context, async (api) => {
    const { err } = context.terminal;
    const started = () => void err.write(`Recording to ${file}. Press Ctrl-C to end it early.\n`);
    const text = await writeSample(file, liveSample(api, request, started));
    err.write(`${text}\n`);
    return EXIT.ok;
  });
}

/** Writes each batch when it comes, so that the file is usable whenever the recording ends. Returns a summary. */
async function writeSample(file: string, sample: AsyncIterable<SampleEvent>): Promise<string> {
  const handle = await open(file, "wx", PRIVATE_FILE_MODE);
  let [batches, bytes, missed] = [0, 0, 0];
  try {
    await handle.writev([SAMPLE_MAGIC]);
    for await (const event of sample) {
      if ("missed" in event) missed += event.missed;
      else {
        await handle.writev(encodeSampled(event));
        batches += 1;
        bytes += event.bytes.length;
      }
    }
  } catch (error) {
    if (batches === 0) await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  const sizes = `${pluralize(batches, "batch", "batches")}, ${roughByteSize(bytes)}`;
  const note = missed === 0 ? "" : ` ${pluralize(missed, "record")} passed and could not be recorded in time.`;
  return `Recorded ${sizes} to ${file}. The file contains records unmasked: keep it private.${note}`;
}
