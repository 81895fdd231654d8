import { startRole } from "./processes/role.js";
import { makeProgress } from "./progress.js";

/**
 * The arguments of every scenario: the options, the generator, the sink, and a progress line.
 *
 * A scenario returns tables for people, results for `--json`, and failures; any failure fails the whole run.
 *
 * @typedef {import("./options.js").Options} Options
 * @typedef {{ options: Options, roles: import("./measure.js").Roles, progress: ReturnType<typeof makeProgress>,
 *   setting: { sink: number, batch: Options["batch"], intake: string | undefined, profile: string | undefined },
 *   close(): Promise<void> }} Bench
 * @typedef {{ tables: import("./table.js").Table[], results: any[], failures: string[] }} Outcome
 */

/** @param {Options} options @returns {Promise<Bench>} */
export async function openBench(options) {
  const generator = startRole(new URL("../roles/generator.js", import.meta.url));
  const sink = startRole(new URL("../roles/sink.js", import.meta.url));
  const close = async () => {
    await Promise.all([generator.stop(), sink.stop()]);
  };
  try {
    const port = await sink.call("listen", options.sinkPort);
    const { batch, intake, profile } = options;
    const setting = { sink: port, batch, intake, profile };
    return { options, roles: { generator, sink }, setting, progress: makeProgress(), close };
  } catch (error) {
    await close();
    throw error;
  }
}
