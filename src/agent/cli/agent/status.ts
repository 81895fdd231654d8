import type { Answers } from "#contract/api";
import type { ExporterStatus, OrphanedQueue, ReceiverStatus, WorkerStatus } from "#contract/operations";
import type { CommandContext } from "../command.js";
import { type Column, table } from "../print/table.js";
import { ageText, errorText, exporterStates, pluralize, roughByteSize, roughDuration } from "../print/text.js";
import { EXIT, type Output } from "../terminal.js";
import { printJson } from "./report.js";
import { withAgent } from "./with-agent.js";

const COLUMNS: readonly Column[] = [
  { title: "EXPORTER", shrinks: true },
  { title: "STATE" },
  { title: "BREAKER" },
  { title: "QUEUE", align: "right" },
  { title: "BYTES", align: "right" },
  { title: "OLDEST", align: "right" },
  { title: "DEAD", align: "right" },
  { title: "LAST SENT" },
  { title: "FAILS", align: "right" },
];

/** `sluice status` */
export function status(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  return withAgent(context, async (api) => {
    const { exporters } = await api.get<Answers["GET /exporters"]>("/exporters");
    const { receivers } = await api.get<Answers["GET /receivers"]>("/receivers");
    const { workers } = await api.get<Answers["GET /workers"]>("/workers").catch(() => ({ workers: [] }));
    const config = await api.get<Answers["GET /config"]>("/config").catch(() => undefined);
    const orphaned = api.get<Answers["GET /queues/orphaned"]>("/queues/orphaned");
    const { queues } = await orphaned.catch(() => ({ queues: [] }));
    const now = Date.now();
    if (values["json"] === true)
      printJson(context, {
        exporters,
        receivers,
        orphanedQueues: queues,
        ...(workers.length > 0 && { workers }),
        ...(config && { config }),
      });
    else {
      const lines = [
        ...configLines(config),
        ...describe(exporters, api.origin, now, terminal.out),
        ...describeReceivers(receivers, now, terminal.out),
        ...describeWorkers(workers, now, terminal.out),
        ...orphanLines(queues),
      ];
      terminal.out.write(`${lines.join("\n")}\n`);
    }
    const isWell =
      [...exporters, ...receivers].every(({ state }) => state === "UP") &&
      workers.every(({ state }) => state === "ready");
    return values["check"] === true && !isWell ? EXIT.failed : EXIT.ok;
  });
}

function configLines(config: Answers["GET /config"] | undefined): string[] {
  if (config?.differs !== true) return [];
  const { number } = config.generation;
  return [
    `The config files differ from the running config (generation ${number}): sluice reload --diff shows how.`,
    "",
  ];
}

function orphanLines(queues: readonly OrphanedQueue[]): string[] {
  if (queues.length === 0) return [];
  return ["", ...queues.map(orphanLine)];
}

function orphanLine({ id, kind, pending, deadLetters, adoption }: OrphanedQueue): string {
  const counts = `${pending ?? "?"} waiting, ${deadLetters ?? "?"} dead`;
  if (adoption?.state === "running") return `${id}: the orphaned queue is being adopted by ${adoption.to}: ${counts}`;
  const adopt = kind === "exporter" ? `sluice queue adopt ${id} --to EXPORTER, or ` : "";
  return `${id}: orphaned queue of a removed ${kind}: ${counts}; ${adopt}sluice queue delete ${id}`;
}

function describe(exporters: readonly ExporterStatus[], origin: string, now: number, out: Output): string[] {
  if (exporters.length === 0) return [`The agent at ${origin} has no exporters.`];
  const rows = exporters.map((each) => rowOf(each, now));
  const remarks = exporters.flatMap((each) => remarksOn(each, now));
  return [
    `The agent at ${origin}: ${summary(exporters)}`,
    "",
    ...table(COLUMNS, rows, out),
    ...(remarks.length === 0 ? [] : ["", ...remarks]),
  ];
}

const RECEIVER_COLUMNS: readonly Column[] = [
  { title: "RECEIVER", shrinks: true },
  { title: "STATE" },
  { title: "LAG", align: "right" },
  { title: "LAST MESSAGE" },
  { title: "RECONNECTS", align: "right" },
];

function describeReceivers(receivers: readonly ReceiverStatus[], now: number, out: Output): string[] {
  if (receivers.length === 0) return [];
  const rows = receivers.map(({ id, state, lag, lastMessageAt, reconnects }) => [
    id,
    state,
    lag === undefined ? "-" : String(lag),
    ageText(lastMessageAt, now),
    String(reconnects),
  ]);
  const remarks = receivers.flatMap(({ id, state, down, lastError }) => {
    if (state === "UP" || lastError === undefined || down.length === 0) return [];
    return [`${id}: cannot read ${down.join(", ")}; last error ${ageText(lastError.at, now)}: ${lastError.message}`];
  });
  const all = [...remarks, ...receivers.flatMap(({ id, facts = {} }) => factLines(id, facts))];
  return ["", ...table(RECEIVER_COLUMNS, rows, out), ...(all.length === 0 ? [] : ["", ...all])];
}

const WORKER_COLUMNS: readonly Column[] = [
  { title: "WORKER", align: "right" },
  { title: "STATE" },
  { title: "PID", align: "right" },
  { title: "SINCE" },
  { title: "RESTARTS", align: "right" },
];

function describeWorkers(workers: readonly WorkerStatus[], now: number, out: Output): string[] {
  if (workers.length === 0) return [];
  const rows = workers.map(({ worker, state, pid, since, restarts }) => [
    String(worker),
    state,
    pid === undefined ? "-" : String(pid),
    ageText(since, now),
    String(restarts),
  ]);
  const remarks = workers.flatMap(({ worker, lastExit }) =>
    lastExit === undefined ? [] : [`worker ${worker}: ended ${ageText(lastExit.at, now)}: ${lastExit.reason}`],
  );
  return ["", ...table(WORKER_COLUMNS, rows, out), ...(remarks.length === 0 ? [] : ["", ...remarks])];
}

function factLines(id: string, facts: NonNullable<ReceiverStatus["facts"]>): string[] {
  return Object.entries(facts).map(([source, own]) => {
    const values = Object.entries(own).map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);
    return `${id}: ${source}: ${values.join(", ")}`;
  });
}

function summary(exporters: readonly ExporterStatus[]): string {
  const waiting = exporters.reduce((sum, { queue }) => sum + queue.items, 0);
  const dead = exporters.reduce((sum, { deadLetters }) => sum + deadLetters.entries, 0);
  return `${exporterStates(exporters)}, ${pluralize(waiting, "record")} waiting, ${pluralize(dead, "dead letter")}.`;
}

function rowOf(exporter: ExporterStatus, now: number) {
  const { id, state, breaker, queue, deadLetters, lastSentAt, failureRate, recentCalls } = exporter;
  return [
    id,
    state,
    `${breaker.state.replace("_", " ")}${breaker.forced ? " (forced)" : ""}`,
    queue.enabled ? String(queue.entries) : "off",
    queue.enabled ? roughByteSize(queue.bytes) : "",
    queue.oldestAt === undefined ? "-" : roughDuration(Math.max(0, now - queue.oldestAt)),
    String(deadLetters.entries),
    ageText(lastSentAt, now),
    // An agent of an older version does not say how many calls there were.
    recentCalls === 0 ? "-" : `${Math.round(failureRate * 100)} %`,
  ];
}

/** Says why an exporter is not healthy, and what to do about it. */
function remarksOn(exporter: ExporterStatus, now: number): string[] {
  const { id, state, paused, breaker, refused, queue, lastError, deadLetters } = exporter;
  const remarks: string[] = [];
  if (exporter.removed) remarks.push("removed from the config; it runs until its queue is empty");
  if (paused) remarks.push(`paused by an operator; sluice exporter resume ${id}`);
  if (queue.writeError !== undefined) remarks.push(`the queue cannot be written: ${queue.writeError.message}`);
  if (refused !== undefined)
    remarks.push(
      `refuses all ${refused.signals.join(" and ")} since ${ageText(refused.since, now)}: ${errorText(refused)}; ${refused.advice}`,
    );
  else if (breaker.state !== "closed" && lastError !== undefined)
    remarks.push(
      `breaker ${breaker.state.replace("_", " ")} since ${ageText(breaker.since, now)}: ${errorText(lastError)}`,
    );
  else if (lastError !== undefined && state !== "UP")
    remarks.push(`last error ${ageText(lastError.at, now)}: ${errorText(lastError)}`);
  if (queue.retries !== undefined && breaker.state === "closed" && !paused)
    remarks.push(retriesText(id, queue.retries, now));
  if (deadLetters.entries > 0)
    remarks.push(`${pluralize(deadLetters.entries, "dead letter")}; sluice dlq stats --exporter ${id}`);
  return remarks.map((remark) => `${id}: ${remark}`);
}

function retriesText(id: string, { entries, nextAt }: NonNullable<ExporterStatus["queue"]["retries"]>, now: number) {
  const when = nextAt > now ? `is due in ${roughDuration(nextAt - now)}` : "is due";
  const waiting = entries === 1 ? "1 entry waits for its" : `${entries} entries wait for their`;
  return `${waiting} retry, the next ${when}; sluice exporter retry ${id}`;
}
