import { type Former, type Retired, type RunningExporter, whenEnded } from "#pipeline";
import type { ComponentRunner, StartedComponent } from "../component-runner.js";
import { type RunningParts, type StartedExtension, taken } from "../running-parts.js";
import type { LeavingExporters } from "./leaving-exporters.js";

/** The agent, as parts of it retire. */
export interface RetiringAgent {
  readonly running: RunningParts;
  readonly runner: ComponentRunner;
  readonly leaving: LeavingExporters;
}

/** Components that others have replaced, or that are not in the config any more. They still run. */
export interface RetiredComponents {
  readonly receivers: StartedComponent[];
  /** Behind queues that were opened anew. */
  readonly exporters: StartedComponent[];
  readonly extensions: StartedExtension[];
}

/** An exporter that is not in the config any more, and where streams ended in it. */
interface RemovedExporter extends Pick<RunningExporter, "id" | "outlet"> {
  readonly end: Former & { close(): void };
}

/** Everything that a reload has replaced or removed. */
export interface ReplacedParts extends Retired, RetiredComponents {
  readonly removed: readonly RemovedExporter[];
}

/** Drains and stops what was replaced, in the direction of the streams. Never waits longer for a part than it may. */
export async function retire(agent: RetiringAgent, replaced: ReplacedParts, timeoutMs: number): Promise<void> {
  const { runner } = agent;
  const { formers, entries, receivers, exporters, extensions } = replaced;
  await runner.stopInTime(receivers, timeoutMs);
  for (const entry of entries) entry.close();
  const removed = replaced.removed.map((each) => ({ ...each, emptied: each.outlet.empty?.() }));
  const leaving = removed.flatMap(({ emptied, ...each }) => (emptied === undefined ? [] : { ...each, emptied }));
  const ended = removed.filter(({ emptied }) => emptied === undefined);
  for (const { end } of ended) end.close();
  await endAll(runner, [...formers, ...ended.map(({ end }) => end)], timeoutMs);
  for (const { id } of ended) for (const part of takenParts(agent, id)) await runner.stopInTime([part]);
  const kept = leaving.length === 0 ? [] : extensions.filter(({ extension }) => extension.clientAuthenticator);
  for (const each of leaving) {
    const authenticators = each === leaving.at(-1) ? kept.toReversed() : [];
    agent.leaving.add({ ...each, components: [...takenParts(agent, each.id), ...authenticators] });
  }
  await runner.stopInTime(exporters);
  for (const extension of extensions.toReversed()) if (!kept.includes(extension)) await runner.stopInTime([extension]);
}

/** Aborts the parts that have not ended in time. */
function endAll(runner: ComponentRunner, parts: readonly Former[], timeoutMs: number): Promise<void> {
  return runner.waitFor(whenEnded(parts), timeoutMs, () => {
    for (const part of parts) part.abort();
  });
}

/** The outlet of an exporter, and the exporter. */
function takenParts({ running }: RetiringAgent, id: string): StartedComponent[] {
  return [...taken(running.outlets, id), ...taken(running.exporters, id)];
}
