import type { ReceiverContext } from "../../../plugin.js";
import type { JobConfig } from "../job-config.js";
import { type Discovery, StaticDiscovery } from "./discovery.js";

/** All discoveries of a job. `path` is where it is in the config. */
export async function createDiscoveries(
  job: JobConfig,
  _context: ReceiverContext,
  _path: readonly string[],
): Promise<Discovery[]> {
  const discoveries: Discovery[] = [];
  if (job.static_configs.length > 0) discoveries.push(new StaticDiscovery(job.static_configs));
  return discoveries;
}
