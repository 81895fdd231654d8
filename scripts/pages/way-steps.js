/**
 * The steps of the three ways that CONTRIBUTING.md describes, in the order in which they are taken. A file belongs to
 * the first step with a path that it begins with.
 *
 * @typedef {{ title: string, text: string, paths: string[] }} Step paths begin behind src/
 */

/** A request that goes on at once. @type {Step[]} */
export const REQUEST_STEPS = [
  {
    title: "Receive",
    text: "The endpoint authenticates the client and finds the signal, the exchange reads the body and answers at the end.",
    paths: ["runtime/net/http-server", "runtime/receiving/", "receivers/otlp/", "runtime/contract/clock"],
  },
  {
    title: "Check",
    text: "The bytes are checked once, in WebAssembly. From here on they are a `Batch`, and stay bytes.",
    paths: ["runtime/otlp/"],
  },
  {
    title: "Hand in",
    text: "The intake bounds the bytes in memory and makes a `Delivery`: the batch and a debt to its sender, which is settled exactly once.",
    paths: [
      "runtime/pipeline/intake/",
      "runtime/contract/border/",
      "runtime/contract/debt",
      "runtime/contract/delivery",
    ],
  },
  {
    title: "Pass through the graph",
    text: "The streams lead from the receiver to the end of the pipeline, as `graph-builder.ts` has connected them.",
    paths: ["runtime/pipeline/"],
  },
  {
    title: "Send",
    text: "Without a queue, the outlet calls the exporter at once, and settles the debt with the outcome.",
    paths: [
      "runtime/contract/calls/",
      "runtime/queue/direct-path",
      "exporters/",
      "runtime/net/",
      "runtime/queue/send/",
      "runtime/host/self-telemetry/",
    ],
  },
];

/** A request with a processor and a queue takes these besides. @type {Step[]} */
export const ENTRY_STEPS = [
  {
    title: "Process",
    text: "Processors are RxJS operators, such as `eachBatch`; `isolate.ts` keeps their failures apart. A filter asks its conditions while it walks over the bytes.",
    paths: [
      "runtime/pipeline/isolate",
      "runtime/contract/",
      "processors/",
      "runtime/ottl/",
      "runtime/otlp/",
      "runtime/host/self-telemetry/",
    ],
  },
  {
    title: "Admit",
    text: "`entry-lifecycle.ts` shows the life of an entry in five numbered steps. The first makes an entry of the delivery.",
    paths: [
      "runtime/queue/queue-outlet",
      "runtime/queue/entry-lifecycle",
      "runtime/queue/admit/",
      "runtime/queue/entry/",
      "extensions/reliability/",
      "runtime/host/agent",
    ],
  },
  {
    title: "Store",
    text: "The entry is written to disk, together with others that come at the same time. Then the debt is settled, and the client is answered.",
    paths: ["runtime/queue/store/", "runtime/codecs/"],
  },
  {
    title: "Schedule",
    text: "The scheduler chooses the next entry and merges neighbours.",
    paths: ["runtime/queue/schedule/"],
  },
  {
    title: "Send",
    text: "The policies (breaker, backoff, ramp) allow an attempt, and learn its outcome. The exporter is called as above.",
    paths: ["runtime/queue/send/"],
  },
  {
    title: "End",
    text: "A delivered entry is deleted; one that cannot be delivered becomes a dead letter, which `dead-letters/` finds, edits and replays.",
    paths: ["runtime/queue/entry-completion"],
  },
];

/** A reload that exchanges a processor. @type {Step[]} */
export const RELOAD_STEPS = [
  {
    title: "Ask",
    text: "SIGHUP, `sluice reload`, the admin API or a changed file asks for it. One reload runs at a time.",
    paths: ["agent/cli/run", "agent/cli/supervise", "runtime/host/reload/config-reloader", "runtime/host/agent"],
  },
  {
    title: "Read",
    text: "The files are read as they are now, with everything that they name.",
    paths: [
      "runtime/host/reload/remote-sources",
      "agent/",
      "runtime/host/plugins/",
      "runtime/config/load",
      "runtime/config/text/",
    ],
  },
  {
    title: "Resolve",
    text: "Keys become settings, and names become components. A problem ends the reload, and nothing has changed.",
    paths: [
      "runtime/config/",
      "runtime/contract/schema/",
      "runtime/ottl/",
      "runtime/otlp/",
      "runtime/net/endpoint",
      "runtime/system/",
      "receivers/",
      "processors/",
      "extensions/",
      "runtime/text/",
      "runtime/contract/errors/",
    ],
  },
  {
    title: "Plan",
    text: "What is new, what has changed, and what stays as it runs.",
    paths: ["runtime/host/reload/named-files", "runtime/host/reload/reload-plan", "runtime/host/reload/changed-keys"],
  },
  {
    title: "Make",
    text: "The builder makes what is new beside what runs.",
    paths: [
      "runtime/pipeline/graph-builder",
      "runtime/pipeline/part-maker",
      "runtime/pipeline/component-maker",
      "runtime/pipeline/isolate",
      "runtime/pipeline/graph-journals",
      "runtime/pipeline/create-outlet",
      "runtime/pipeline/worker-exchange",
      "runtime/pipeline/plan-paths",
      "runtime/pipeline/replay-steps",
      "runtime/contract/",
      "runtime/queue/operate/d",
    ],
  },
  {
    title: "Switch",
    text: "One synchronous step leads the streams through the new parts. The former ones drain behind it.",
    paths: [
      "runtime/host/reload/swap",
      "runtime/host/reload/stopped-parts",
      "runtime/host/reload/retire",
      "runtime/net/",
      "runtime/pipeline/",
      "runtime/host/component-runner",
    ],
  },
  {
    title: "Tell",
    text: "The audit, the log and the metrics say who changed what.",
    paths: ["runtime/host/", "runtime/queue/"],
  },
];
