import type { ExporterReading, NodeRates, RateName, Sample } from "#contract/api";
import type { GraphDescription } from "#contract/operations";
import { painter, printable } from "#text";
import { type Column, table } from "../print/table.js";
import { exporterStates, pluralize, roughByteSize, roughDuration } from "../print/text.js";

/** The part of the response of `GET /agent` that is shown. */
export interface TopAgent {
  readonly name: string;
  readonly version: string;
  readonly state: string;
  /** Milliseconds since the epoch: commands convert all times of a response. */
  readonly startedAt: number;
  readonly pipelines: readonly string[];
}

/** Everything that is drawn. */
export interface TopPicture {
  readonly agent: TopAgent;
  readonly graph: GraphDescription;
  readonly origin: string;
  /** Undefined until the first sample has come, after a second. */
  readonly sample?: Sample | undefined;
  readonly connectionError?: string | undefined;
}

/** Size of the terminal. The picture is cut to it; undefined means no limit. */
interface TopSize {
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  readonly colour: boolean;
}

const NUMBER = { align: "right" } as const;
const PIPELINES: readonly Column[] = [
  { title: "PIPELINE", shrinks: true },
  { title: "IN/s", ...NUMBER },
  { title: "OUT/s", ...NUMBER },
  { title: "DROPPED/s", ...NUMBER },
  { title: "REFUSED/s", ...NUMBER },
  { title: "FAILED/s", ...NUMBER },
];
const EXPORTERS: readonly Column[] = [
  { title: "EXPORTER", shrinks: true },
  { title: "STATE" },
  { title: "BREAKER" },
  { title: "IN/s", ...NUMBER },
  { title: "SENT/s", ...NUMBER },
  { title: "QUEUE", ...NUMBER },
  { title: "BYTES", ...NUMBER },
  { title: "OLDEST", ...NUMBER },
  { title: "DEAD", ...NUMBER },
];

/** Lines outside the tables' rows: two at the top, the two heads, one at the bottom, and three empty ones. */
const OTHER_LINES = 8;

/** The lines to draw. If a size is given they fit it, and a long table ends with the number of rows left out. */
export function topView(picture: TopPicture, size: TopSize): string[] {
  const { agent, sample, connectionError } = picture;
  const paint = painter(size.colour);
  const output = { write() {}, isTerminal: size.columns !== undefined, colour: false, columns: size.columns };
  const drawTable = (columns: readonly Column[], rows: readonly (readonly string[])[], most: number) => {
    const [head = "", ...lines] = cutRows(table(columns, rows, output), most).map((line) => cutTo(line, size.columns));
    return [paint("bold", head), ...lines.map((line) => paintState(line, paint))];
  };
  const pipelines = agent.pipelines.map((id) => pipelineRow(id, picture));
  const exporters = exporterRows(picture);
  const room = size.rows === undefined ? Number.POSITIVE_INFINITY : Math.max(2, size.rows - OTHER_LINES);
  const forExporters = Math.min(exporters.length, Math.max(Math.floor(room / 2), room - pipelines.length));
  const forPipelines = Math.min(pipelines.length, room - forExporters);
  const status = sample === undefined ? "waiting for the first second" : totals(picture, sample);
  const lines = [
    cutTo(headline(picture), size.columns),
    connectionError === undefined
      ? cutTo(status, size.columns)
      : paint("red", cutTo(printable(connectionError), size.columns)),
    "",
    ...drawTable(PIPELINES, pipelines, forPipelines),
    "",
    ...drawTable(EXPORTERS, exporters, forExporters),
  ];
  if (size.rows === undefined) return lines;
  return [...lines, "", paint("dim", "q quits")].slice(0, size.rows);
}

function headline({ agent, origin, sample }: TopPicture): string {
  const now = sample === undefined ? Date.now() : Date.parse(sample.at);
  const up = roughDuration(Math.max(0, now - agent.startedAt));
  const time = new Date(now).toTimeString().slice(0, 8);
  return `${printable(agent.name)} ${agent.version} at ${origin}: ${agent.state}, up ${up}, ${time}`;
}

function totals({ graph }: TopPicture, sample: Sample): string {
  const sum = (kind: string, rate: RateName) =>
    graph.nodes.filter((node) => node.kind === kind).reduce((all, { id }) => all + (sample.nodes[id]?.[rate] ?? 0), 0);
  const exporters = Object.values(sample.exporters);
  const dead = exporters.reduce((all, { deadLetters }) => all + deadLetters, 0);
  const rates = `${rateText(sum("receiver", "in"))}/s in, ${rateText(sum("exporter", "out"))}/s sent`;
  const refused = `${rateText(sum("receiver", "refused"))}/s refused`;
  return `${rates}, ${refused}; ${exporterStates(exporters)}, ${pluralize(dead, "dead letter")}`;
}

/** Each node that feeds the pipeline is counted once, because without processors it has an edge to every exporter. */
function pipelineRow(id: string, { graph, sample }: TopPicture): string[] {
  if (sample === undefined) return [id];
  const edges = graph.edges.filter(({ pipeline }) => pipeline === id);
  const processors = graph.nodes.filter(({ kind, pipelines }) => kind === "processor" && pipelines[0] === id);
  const own = new Set(processors.map((node) => node.id));
  const entries = new Map(edges.filter(({ from }) => !own.has(from)).map((edge) => [edge.from, edge.id]));
  const taken = [...entries.values()].reduce((sum, edge) => sum + (sample.edges[edge]?.perSecond ?? 0), 0);
  const last = processors.at(-1);
  const sum = (rate: RateName) => processors.reduce((all, node) => all + (sample.nodes[node.id]?.[rate] ?? 0), 0);
  const out = last === undefined ? taken : (sample.nodes[last.id]?.out ?? 0);
  return [id, ...[taken, out, sum("dropped"), sum("refused"), sum("failed")].map(rateText)];
}

/** Exporters that are not UP come first, so that they are visible in a long table. */
function exporterRows({ graph, sample }: TopPicture): string[][] {
  const nodes = graph.nodes.filter(({ kind }) => kind === "exporter");
  const isWell = (name: string) => (sample?.exporters[name]?.state ?? "UP") === "UP";
  return nodes
    .toSorted((a, b) => Number(isWell(a.name)) - Number(isWell(b.name)))
    .map(({ id, name }) => exporterRow(name, sample?.exporters[name], sample?.nodes[id]));
}

function exporterRow(name: string, reading: ExporterReading | undefined, rates: NodeRates | undefined): string[] {
  if (rates === undefined) return [name];
  const passing = [rateText(rates.in), rateText(rates.out)];
  if (reading === undefined) return [name, "-", "-", ...passing];
  return [
    name,
    reading.paused ? "PAUSED" : reading.state,
    reading.breaker.replace("_", " "),
    ...passing,
    String(reading.queueEntries),
    roughByteSize(reading.queueBytes),
    reading.queueEntries === 0 ? "-" : roughDuration(reading.queueAge * 1000),
    String(reading.deadLetters),
  ];
}

function cutRows([head = "", ...rows]: readonly string[], room: number): string[] {
  if (rows.length <= room) return [head, ...rows];
  const shown = rows.slice(0, Math.max(0, room - 1));
  return [head, ...shown, `… and ${rows.length - shown.length} more`];
}

function paintState(line: string, paint: ReturnType<typeof painter>): string {
  return line.replace(
    / (DEGRADED|DOWN|PAUSED)(?= )/,
    (_, state: string) => ` ${paint(state === "DOWN" ? "red" : "yellow", state)}`,
  );
}

/** `0`, `3.5`, `120`, `12.3k`, `4.5M` */
function rateText(perSecond: number): string {
  if (perSecond >= 1e6) return `${(perSecond / 1e6).toFixed(1)}M`;
  if (perSecond >= 1e4) return `${(perSecond / 1e3).toFixed(1)}k`;
  return perSecond >= 100 || Number.isInteger(perSecond) ? String(Math.round(perSecond)) : perSecond.toFixed(1);
}

function cutTo(text: string, columns: number | undefined): string {
  const characters = [...text];
  if (columns === undefined || characters.length <= columns) return text;
  return `${characters.slice(0, Math.max(0, columns - 1)).join("")}…`;
}
