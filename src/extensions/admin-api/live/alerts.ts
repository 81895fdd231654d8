import type { Alert } from "#contract/api";
import type { BuiltInHost } from "#contract/built-in";
import type { ExporterStatus, ReceiverStatus } from "#contract/operations";
import type { Clock } from "../../../plugin.js";

/** A rule about one exporter or receiver. `check` answers since when it holds, if that is known. */
interface AlertRule<T> {
  readonly name: string;
  readonly severity: Alert["severity"];
  readonly forMs: number;
  check(status: T, now: number): { readonly summary: string; readonly since?: number } | undefined;
}

const MINUTE_MS = 60_000;
export const MAX_QUEUE_AGE_S = 900;
export const MAX_DEAD_LETTERS = 100;
export const MAX_DEAD_LETTER_AGE_S = 1800;
export const MAX_LAG = 10_000;

/**
 * The rules that the present state of an exporter decides. Those that need the history of metrics are left to
 * Prometheus.
 */
export const EXPORTER_RULES: readonly AlertRule<ExporterStatus>[] = [
  {
    name: "SluiceBreakerOpen",
    severity: "critical",
    forMs: MINUTE_MS,
    check: ({ id, breaker: { state, since } }) =>
      state === "open" ? { summary: `${id} cannot deliver: its circuit breaker is open`, since } : undefined,
  },
  {
    name: "SluiceBackendRefusesEverything",
    severity: "critical",
    forMs: MINUTE_MS,
    check: ({ id, refused }) =>
      refused && { summary: `the backend of ${id} refuses all ${refused.signals.join(", ")}`, since: refused.since },
  },
  {
    name: "SluiceExporterPaused",
    severity: "warning",
    forMs: 30 * MINUTE_MS,
    check: ({ id, paused }) =>
      paused ? { summary: `${id} is paused: nothing is sent until it is resumed` } : undefined,
  },
  {
    name: "SluiceQueueOld",
    severity: "warning",
    forMs: 5 * MINUTE_MS,
    check: ({ id, queue: { oldestAt } }, now) =>
      isOlder(oldestAt, MAX_QUEUE_AGE_S, now)
        ? { summary: `the oldest entry in the queue of ${id} has waited for more than 15 minutes` }
        : undefined,
  },
  {
    name: "SluiceQueueUnwritable",
    severity: "critical",
    forMs: MINUTE_MS,
    check: ({ id, queue: { writeError } }) =>
      writeError && { summary: `the queue of ${id} cannot be written: clients are refused` },
  },
  {
    name: "SluiceDeadLetters",
    severity: "warning",
    forMs: 5 * MINUTE_MS,
    check: ({ id, deadLetters: { entries } }) =>
      entries > MAX_DEAD_LETTERS ? { summary: `${id} has ${entries} dead letters` } : undefined,
  },
  {
    name: "SluiceDeadLettersOld",
    severity: "warning",
    forMs: 5 * MINUTE_MS,
    check: ({ id, deadLetters: { entries, oldestAt } }, now) =>
      entries > 0 && isOlder(oldestAt, MAX_DEAD_LETTER_AGE_S, now)
        ? { summary: `dead letters of ${id} have waited for more than 30 minutes` }
        : undefined,
  },
];

export const RECEIVER_RULES: readonly AlertRule<ReceiverStatus>[] = [
  {
    name: "SluiceReceiverDown",
    severity: "critical",
    forMs: 2 * MINUTE_MS,
    check: ({ id, state }) => (state === "DOWN" ? { summary: `${id} cannot read its source` } : undefined),
  },
  {
    name: "SluiceReceiverLags",
    severity: "warning",
    forMs: 10 * MINUTE_MS,
    check: ({ id, lag = 0 }) => (lag > MAX_LAG ? { summary: `${lag} messages wait for ${id}` } : undefined),
  },
];

function isOlder(at: number | undefined, seconds: number, now: number): boolean {
  return at !== undefined && now - at > seconds * 1000;
}

/** Remembers since when the conditions of alert rules hold. */
export class Alerts {
  private readonly host: Pick<BuiltInHost, "admin" | "receivers">;
  private readonly clock: Clock;
  /** By rule and target; only of conditions that hold. */
  private seen: ReadonlyMap<string, number> = new Map();

  constructor(host: Pick<BuiltInHost, "admin" | "receivers">, clock: Clock) {
    this.host = host;
    this.clock = clock;
  }

  /** Checks all rules now. Those that fire come first, the critical ones before the others. */
  check(): readonly Alert[] {
    const now = this.clock.now();
    const seen = new Map<string, number>();
    const holding = <T extends { readonly id: string }>(rules: readonly AlertRule<T>[], statuses: readonly T[]) =>
      rules.flatMap(({ name, severity, forMs, check }) =>
        statuses.flatMap((status): Alert[] => {
          const found = check(status, now);
          if (found === undefined) return [];
          const key = `${name} ${status.id}`;
          const first = this.seen.get(key) ?? now;
          seen.set(key, first);
          const since = Math.min(found.since || first, first);
          const state = now - since >= forMs ? "firing" : "pending";
          return [{ name, severity, state, target: status.id, since, summary: found.summary }];
        }),
      );
    const alerts = [
      ...holding(EXPORTER_RULES, this.host.admin?.exporters() ?? []),
      ...holding(RECEIVER_RULES, this.host.receivers?.() ?? []),
    ];
    this.seen = seen;
    return alerts.sort((a, b) => rank(a) - rank(b));
  }
}

function rank({ state, severity }: Alert): number {
  return (state === "firing" ? 0 : 2) + (severity === "critical" ? 0 : 1);
}
