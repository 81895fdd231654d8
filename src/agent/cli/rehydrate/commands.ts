import { AGENT_OPTIONS } from "../agent/find-agent.js";
import { OPERATOR_OPTIONS } from "../agent/operator.js";
import { type Command, flag, JSON_OUT, option } from "../command.js";

export const REHYDRATE: Command = {
  name: "rehydrate",
  summary: "Send archived records to an exporter again.",
  details: [
    "Reads what the exporters aws_s3 and file, or the Collector's awss3, have written. Only the partitions between --since",
    "and --until are listed; times without a zone are local. First shows how much there is, and asks. The records pass those",
    "processors that handle replays, such as pii, and then the queue of the exporter. They have the resource attributes",
    "sluice.rehydrated and sluice.rehydrated_from.",
    "The agent does the work: Ctrl-C cancels it. If it was cancelled, or the agent was stopped or killed, the same command",
    "goes on where it ended. Objects that cannot be read are named and left out.",
    "Exit code 0 if everything was sent, 1 if not. Needs a running agent, and the roles replay and configure.",
  ],
  options: {
    from: option("PLACE", "s3://BUCKET/PREFIX, or file:FOLDER on the agent's machine."),
    to: option("EXPORTER", "The exporter that gets the records."),
    since: option("TIME", "From this time on: 2026-01-31T08:00, or 30d before now."),
    until: option("TIME", "Before this time; default: now."),
    where: option("CONDITION", "Only records for which this OTTL condition holds."),
    rate: option("N", "The most records per second; default: no limit."),
    partition: option(
      "FORMAT",
      "Format of the partitions; none: choose objects by when they were written. Default: that of aws_s3.",
    ),
    timezone: option("ZONE", "Time zone of the partitions, such as UTC; default: that of the agent's machine."),
    region: option("NAME", "Region of the bucket; default: us-east-1."),
    endpoint: option("URL", "Server of the bucket, such as MinIO; default: AWS."),
    "path-style": flag("Name the bucket in the path of URLs, as MinIO needs it."),
    "dry-run": flag("Only show how much there is."),
    restart: flag("Begin anew, even if an earlier run was interrupted."),
    yes: { type: "boolean", short: "y", description: "Do not ask." },
    ...OPERATOR_OPTIONS,
    ...AGENT_OPTIONS,
    ...JSON_OUT,
  },
  examples: [
    "sluice rehydrate --from s3://archive/prod --since 2026-01-31T08:00 --until 2026-01-31T09:00 --to otlp_http",
    "sluice rehydrate --from file:/var/archive --since 7d --where 'severity_number >= 17' --to otlp_http --rate 5000 --yes",
  ],
  load: async () => (await import("./rehydrate.js")).rehydrate,
};
