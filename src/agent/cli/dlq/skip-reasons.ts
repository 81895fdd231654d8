const SKIP_REASONS: Readonly<Record<string, string>> = {
  skip_approval:
    "partly taken by the backend before, or found by replay.require_approval (--approve sends all of it again)",
  skip_max_replays: "replayed too often (--approve does it once more)",
  skip_pipeline:
    "their pipeline is not in the config (--pipeline NAME treats them as that one would, --as-is sends them untreated)",
  skip_schema: "not readable any more, or refused by a processor, such as versioning, for what it is",
  skip_expired: "older than dead_letter.retention",
  skip_downstream: "the backend is down, its circuit breaker open",
  skip_not_found: "not found among the dead letters",
  skip_transform: "a statement of --transform fails on them",
  skip_destination:
    "the exporter of --to is in no pipeline of their signal, or they have not passed the processors of their own",
  skip_source:
    "the source of their messages cannot be reached, no agent runs to tell it, or it says that they have not failed (--approve replays them without telling it)",
  skip_moving: "being moved to another exporter, which broke off (--approve sends them all the same)",
};

/** Says why an entry was left where it is. */
export function skipReason(reason: string): string {
  return SKIP_REASONS[reason] ?? reason;
}
