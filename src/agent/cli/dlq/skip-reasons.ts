const SKIP_REASONS: Readonly<Record<string, string>> = {
  skip_approval:
    "partly accepted by the backend before, or matched by replay.require_approval (--approve sends all records again)",
  skip_max_replays: "replayed too often (--approve replays them once more)",
  skip_pipeline:
    "their pipeline is not in the config (--pipeline NAME processes them like that pipeline, --as-is sends them unprocessed)",
  skip_schema: "no longer readable, or refused by a processor such as versioning",
  skip_expired: "older than dead_letter.retention",
  skip_downstream: "the backend is down: its circuit breaker is open",
  skip_not_found: "not found among the dead letters",
  skip_transform: "a statement of --transform fails on them",
  skip_destination:
    "the exporter of --to is in no pipeline of their signal, or they have not passed the processors of their own pipeline",
  skip_source:
    "Sluice cannot mark their messages as replayed at the source: the source cannot be reached, no agent runs, or the messages have not failed there (--approve replays them anyway)",
  skip_moving: "an interrupted move to another exporter includes them (--approve sends them anyway)",
};

/** Says why an entry was left where it is. */
export function skipReason(reason: string): string {
  return SKIP_REASONS[reason] ?? reason;
}
