import { compilePattern } from "#text/patterns";
import { boundOf } from "./entries/entry-growth.js";
import type { LogEntry } from "./entries/log-entry.js";
import { EntryExpression } from "./entry-expression.js";
import { EntryTime } from "./entry-time.js";
import { LogField } from "./log-field.js";
import { type EntryTarget, type HoldingOperator, LogOperator, type OperatorContext } from "./log-operator.js";
import { once } from "./once.js";
import { matchGroups, type ParserSettings, parseJsonMap } from "./parse-operators.js";
import { RecombineOperator } from "./recombine-operator.js";

export const CONTAINER_FORMATS = ["docker", "crio", "containerd"] as const;

interface ContainerSettings extends ParserSettings {
  readonly format: (typeof CONTAINER_FORMATS)[number] | "";
  readonly add_metadata_from_filepath: boolean;
  readonly max_log_size: number;
}

/** Compiled for the first line: these patterns would take a twelfth of every agent's start. */
const patterns = once(() => ({
  crio: compilePattern("(?s)^(?P<time>[^ Z]+) (?P<stream>stdout|stderr) (?P<logtag>[^ ]*) ?(?P<log>.*)$"),
  containerd: compilePattern("(?s)^(?P<time>[^ ^Z]+Z) (?P<stream>stdout|stderr) (?P<logtag>[^ ]*) ?(?P<log>.*)$"),
  logPath: compilePattern(
    "^.*[/\\\\](?P<namespace>[^_]+)_(?P<pod_name>[^_]+)_(?P<uid>[a-f0-9\\-]+)[/\\\\](?P<container_name>[^\\._]+)[/\\\\](?P<restart_count>\\d+)\\.log(?:\\.\\d{8}-\\d{6})?$",
  ),
}));
const METADATA: readonly (readonly [string, string])[] = [
  ["container_name", "k8s.container.name"],
  ["namespace", "k8s.namespace.name"],
  ["pod_name", "k8s.pod.name"],
  ["restart_count", "k8s.container.restart_count"],
  ["uid", "k8s.pod.uid"],
];

const ATTRIBUTES = new LogField("attributes", []);

/** Parses lines written by Docker, CRI-O and containerd: the container's output, its stream and its time. */
export class ContainerParser extends LogOperator implements HoldingOperator {
  private readonly container: ContainerSettings;
  private readonly recombine: RecombineOperator;
  private readonly time: EntryTime;

  constructor(settings: ContainerSettings, context: OperatorContext) {
    super(settings, context);
    this.container = settings;
    const { if: _, ...common } = settings;
    this.recombine = new RecombineOperator(
      {
        ...common,
        is_last_entry: new EntryExpression('attributes.logtag == "F"'),
        combine_field: new LogField("body", []),
        combine_with: "",
        source_identifier: new LogField("attributes", ["log.file.path"]),
        overwrite_with: "oldest",
        force_flush_period: 5000,
        max_batch_size: 0,
        max_unmatched_batch_size: 0,
        max_sources: 1000,
        max_log_size: settings.max_log_size,
      },
      context,
    );
    this.time = new EntryTime({
      parse_from: new LogField("attributes", ["time"]),
      layout: "2006-01-02T15:04:05.999999999Z07:00",
      layout_type: "gotime",
      location: "",
    });
  }

  get heldEntries(): Iterable<LogEntry> {
    return this.recombine.heldEntries;
  }

  flushOld(): void {
    this.recombine.flushOld();
  }

  override connect(targets: readonly EntryTarget[]): void {
    super.connect(targets);
    this.recombine.connect(targets);
  }

  protected apply(entry: LogEntry): boolean {
    const value = this.container.parse_from.get(entry);
    if (typeof value !== "string") throw new Error(`there is no text in ${this.container.parse_from}`);
    const format = this.container.format || formatOf(value);
    const parsed = format === "docker" ? parseJsonMap(value) : matchGroups(patterns()[format], value);
    this.makeRoom(entry, parsed, boundOf(parsed), entry.body);
    ATTRIBUTES.merge(entry, parsed);
    this.time.read(entry);
    const { attributes } = entry;
    if (attributes.log === undefined) throw new Error("there is no log in the line");
    entry.body = attributes.log;
    if (attributes.stream !== undefined) attributes["log.iostream"] = attributes.stream;
    delete attributes.time;
    delete attributes.log;
    delete attributes.stream;
    if (this.container.add_metadata_from_filepath) addMetadata(entry);
    if (format === "docker") return true;
    this.recombine.process(entry);
    return false;
  }
}

function formatOf(text: string): (typeof CONTAINER_FORMATS)[number] {
  if (text.startsWith("{")) return "docker";
  if (patterns().crio.test(text)) return "crio";
  if (patterns().containerd.test(text)) return "containerd";
  throw new Error("the line is not a container log of docker, crio or containerd");
}

function addMetadata(entry: LogEntry): void {
  const path = entry.attributes["log.file.path"];
  if (typeof path !== "string")
    throw new Error("there is no attribute log.file.path to read the pod from; set include_file_path: true");
  const groups = patterns().logPath.groups(path);
  if (groups === undefined) throw new Error("the file's path is not the path of a pod's log");
  const resource = entry.ownResource();
  for (const [group, name] of METADATA) resource[name] = groups[group] ?? "";
}
