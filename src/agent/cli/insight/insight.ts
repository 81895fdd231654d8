import { writeFile } from "node:fs/promises";
import type {
  InsightAnswer,
  InsightAnswerRow,
  InsightCut,
  InsightCutRehearsal,
  InsightMeasured,
} from "#contract/insight";
import type { RehearsalStatus } from "#contract/rehearsal";
import { painter, printable } from "#text";
import { liveRehearsalRequest, rehearsalCode, runRehearsal } from "../agent/rehearse-reload.js";
import { positionalArguments, printJson } from "../agent/report.js";
import { type AgentApi, withAgent } from "../agent/with-agent.js";
import type { CommandContext, OptionValues } from "../command.js";
import { type Column, table } from "../print/table.js";
import { pluralize, roughByteSize } from "../print/text.js";
import { EXIT, type Output, UsageError } from "../terminal.js";

const SHOW_OPTIONS = ["by", "place", "signal", "service", "limit", "sort"];
const CUT_OPTIONS = ["by", "place", "signal", "name", "n", "context", "label", "pipeline"];
/** The options that only `--rehearse` uses. */
const REHEARSE_OPTIONS = ["for", "sample-rate", "max-size"];
const DEFAULT_LIMIT = "20";
const BARS = "▁▂▃▄▅▆▇█";
const BAR_COUNT = 20;

/** `sluice insight` and `sluice insight cut` */
export function insight(context: CommandContext): Promise<number> {
  const [word, action, ...others] = positionalArguments(context);
  if (word === undefined) return show(context);
  if (word !== "cut" || action === undefined || others.length > 0)
    throw new UsageError(
      "expected nothing, or cut and an action",
      "write: sluice insight cut drop --by ... --name ...",
    );
  return cut(context, action);
}

function show(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  return withAgent(context, async (api) => {
    const answer = await api.get<InsightAnswer>(
      `/insight?${queryOf({ limit: DEFAULT_LIMIT, ...values }, SHOW_OPTIONS)}`,
    );
    if (values["json"] === true) printJson(context, answer);
    else terminal.out.write(`${lines(answer, values["service"], terminal.out).join("\n")}\n`);
    for (const worker of answer.unavailableWorkers ?? [])
      terminal.err.write(`sluice: worker ${worker} does not answer, so its traffic is missing here\n`);
    return answer.enabled ? EXIT.ok : EXIT.failed;
  });
}

function cut(context: CommandContext, action: string): Promise<number> {
  const { values, terminal } = context;
  const isRehearsed = values["rehearse"] === true;
  const alone = REHEARSE_OPTIONS.find((name) => values[name] !== undefined);
  if (!isRehearsed && alone !== undefined) throw new UsageError(`--${alone} needs --rehearse`, "add --rehearse");
  const request = liveRehearsalRequest(context);
  return withAgent(context, async (api) => {
    const signal = values["signal"] ?? (await signalOf(api, values));
    const query = `?action=${encodeURIComponent(action)}&${queryOf({ ...values, signal }, CUT_OPTIONS)}`;
    const made = await api.get<InsightCut>(`/insight/cut${query}`);
    const file = values["save"] as string | undefined;
    if (file !== undefined) await writeFile(file, made.yaml, { flag: "wx" });
    const isJson = values["json"] === true;
    if (!isJson) terminal.out.write(`${cutLines(made, file, terminal.out).join("\n")}\n`);
    if (!isRehearsed) {
      if (isJson) printJson(context, made);
      else terminal.out.write(`${tryLine(made, file)}\n`);
      return EXIT.ok;
    }
    const ended = await runRehearsal<FollowedCut>(context, api, { path: "/insight/cut/rehearsal", query, request });
    if (isJson) printJson(context, { ...made, ...ended });
    else if (ended.measured !== null) terminal.out.write(`${measuredLines(ended, ended.measured).join("\n")}\n`);
    return rehearsalCode(ended.rehearsal, context);
  });
}

type FollowedCut = InsightCutRehearsal<RehearsalStatus> & { readonly rehearsal: RehearsalStatus };

function measuredLines({ rehearsal }: FollowedCut, measured: InsightMeasured): string[] {
  const { records, bytes, share, costPerDay, before, after, notes } = measured;
  const money = costPerDay === null ? "" : `, ${moneyText(costPerDay)}`;
  const { sample } = rehearsal;
  return [
    `Measured: saves ${count(records)} records and ${signedBytes(bytes)} per day (${percent(share)} of all bytes at exporters)${money}.`,
    `The sample has ${pluralize(sample.records, "record")}. Exporters get ${count(before.records)} → ${count(after.records)} records and ${roughByteSize(before.bytes)} → ${roughByteSize(after.bytes)} of it.`,
    ...notes.map((note) => `Note: ${printable(note)}.`),
  ];
}

function signedBytes(bytes: number): string {
  return bytes < 0 ? `-${roughByteSize(-bytes)}` : roughByteSize(bytes);
}

function tryLine({ rehearse }: InsightCut, file: string | undefined): string {
  const command = file === undefined ? rehearse : rehearse.replace("cut.yaml", printable(file));
  return `To try it on live traffic, add --rehearse, or: ${command}`;
}

/** The signal of a row, if it was not given and only one has such a row. */
async function signalOf(api: AgentApi, values: OptionValues): Promise<string> {
  const { rows } = await api.get<InsightAnswer>(`/insight?${queryOf({ ...values, limit: "1000" }, SHOW_OPTIONS)}`);
  const signals = new Set(rows.filter(({ name }) => name === values["name"]).map(({ signal }) => signal));
  const [only] = signals;
  if (only === undefined) throw new UsageError("there is no such row now", "name its signal: --signal logs");
  if (signals.size > 1)
    throw new UsageError(`several signals have this row: ${[...signals].join(", ")}`, "add --signal");
  return only;
}

function queryOf(values: OptionValues, names: readonly string[]): string {
  const query = new URLSearchParams();
  for (const name of names) {
    const value = values[name];
    if (typeof value === "string") query.set(name, value);
  }
  return query.toString();
}

function lines(answer: InsightAnswer, service: OptionValues[string], out: Output): string[] {
  if (!answer.enabled)
    return ["The extension insight does not run. Add insight: {} to extensions, and insight to service.extensions."];
  const { by, place, total, rows, rowCount, sample, overflow } = answer;
  const minutes = Math.max(1, Math.round((Date.parse(answer.to) - Date.parse(answer.from)) / 60_000));
  const money = total.costPerDay === null ? "" : `, ${moneyText(total.costPerDay)} per day`;
  const read = sample.batches === 0 ? 0 : sample.readBatches / sample.batches;
  const subject = typeof service === "string" ? `${by} of ${printable(service)}` : by;
  return [
    `${subject} at ${place}, last ${pluralize(minutes, "minute")}: ${count(total.records)} records, ${roughByteSize(total.bytes)}${money}; read ${percent(read)} of the batches`,
    "",
    ...(rows.length === 0
      ? ["Nothing has passed yet."]
      : table(
          columnsOf(answer),
          rows.map((row) => cells(row, answer)),
          out,
        )),
    ...(rowCount > rows.length ? ["", `${rowCount - rows.length} more rows: use --limit`] : []),
    ...(overflow.note === null ? [] : ["", `Note: ${overflow.note}.`]),
  ];
}

function columnsOf({ by, total }: InsightAnswer): Column[] {
  return [
    { title: by.toUpperCase(), shrinks: true },
    { title: "SIGNAL" },
    ...(by === "attribute" ? [{ title: "IN" }] : []),
    { title: "RECORDS", align: "right" },
    { title: "BYTES", align: "right" },
    { title: "+-", align: "right" },
    { title: "SHARE", align: "right" },
    ...(by === "metric" || by === "cardinality" ? [{ title: "SERIES", align: "right" } as const] : []),
    ...(by === "cardinality" ? [{ title: "WITHOUT", shrinks: true }] : []),
    ...(total.costPerDay === null ? [] : [{ title: "PER DAY", align: "right" } as const]),
    { title: "NOW" },
    { title: "LAST HOUR" },
  ];
}

function cells(row: InsightAnswerRow, { by, total }: InsightAnswer): string[] {
  const { name, signal, context = "", records, bytes, error, share, seriesCount = 0, labels = [], now } = row;
  const [worst] = labels;
  return [
    name,
    signal,
    ...(by === "attribute" ? [context] : []),
    count(records),
    roughByteSize(bytes),
    bytes > 0 ? percent(error.bytes / bytes) : "",
    percent(share),
    ...(by === "metric" || by === "cardinality" ? [count(seriesCount)] : []),
    ...(by === "cardinality" ? [worst === undefined ? "" : `${worst.label}: ${count(worst.seriesWithout)}`] : []),
    ...(total.costPerDay === null ? [] : [moneyText(row.costPerDay ?? 0)]),
    now.state === "sampled" ? `sampled ${percent(now.kept ?? 0)}` : now.state === "unknown" ? "-" : now.state,
    spark(row.series),
  ];
}

/** The last hour in bars of three minutes. */
function spark(series: readonly number[]): string {
  const width = Math.ceil(series.length / BAR_COUNT);
  const sums = Array.from({ length: BAR_COUNT }, (_, i) =>
    series.slice(i * width, (i + 1) * width).reduce((sum, value) => sum + value, 0),
  );
  const most = Math.max(...sums, 1);
  return sums.map((sum) => (sum === 0 ? " " : BARS[Math.min(7, Math.floor((sum / most) * 7.99))])).join("");
}

function cutLines({ diff, yaml, saves, notes }: InsightCut, file: string | undefined, out: Output): string[] {
  const paint = painter(out.colour);
  const signs = { same: " ", gone: "-", new: "+" } as const;
  const shown = diff?.map(({ kind, text }) => {
    const line = printable(`${signs[kind]} ${text}`);
    return kind === "same" ? line : paint(kind === "new" ? "green" : "red", line);
  });
  const money = saves?.costPerDay === null || saves === null ? "" : `, ${moneyText(saves.costPerDay)}`;
  const series = saves !== null && saves.series > 0 ? `, ${count(saves.series)} series` : "";
  return [
    ...(shown ?? yaml.trimEnd().split("\n").map(printable)),
    "",
    saves === null
      ? "How much this saves is not known from the rows: rehearse it."
      : `Estimate: saves about ${count(saves.records)} records and ${roughByteSize(saves.bytes)} per day (${percent(saves.share)} of all bytes here)${series}${money}.`,
    ...notes.map((note) => `Note: ${printable(note)}.`),
    file === undefined ? "Nothing was changed. --save FILE writes the config." : `Written to ${printable(file)}.`,
  ];
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function percent(share: number): string {
  const value = share * 100;
  return `${value >= 10 || value === 0 ? value.toFixed(0) : value.toFixed(1)}%`;
}

function moneyText(value: number): string {
  return value >= 100 ? count(value) : value.toFixed(2);
}
