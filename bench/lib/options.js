import { parseArgs } from "node:util";
import { CLIENTS } from "./forward.js";
import { SIGNALS } from "./load/records.js";
import { ENCODINGS } from "./load/supply.js";
import { BUILTIN, peer } from "./subjects.js";

/**
 * The command line.
 *
 * @typedef {ReturnType<typeof parseOptions>} Options
 */
export const HELP = `Usage: npm run bench -- [scenario ...] [options]

  --scenario a,b        what to measure (default: shapes,passthrough); --list names them all
  --records 1,100,1000  records a request
  --clients 1,4,16,64   shapes: connections, each with one request at a time
  --batching a,b        shapes: with, without (default: both) a batch processor
  --queue a,b           shapes: durable, off (default: both)
  --client name         how the bare forwarder sends: own (the agent's client, the default), node (node:http's) or sockets
  --encoding a,b        proto, json, gzip, grpc (default: all)
  --signal name         logs (default), traces or metrics
  --subjects a,b        bare, sluice (default: both); bare is the baseline of the ratios
  --peer name=command   another program under the same load; may be repeated. {listen}, {grpc} and {sink} in the
                        command become ports; without {listen} it is taken to listen on 4318
  --sink-port n         a fixed port for the sink, for peers whose configuration names it
  --rounds n            measured rounds of each subject (default: 5)
  --seconds n           length of a round (default: 2)
  --warmup n            seconds of unmeasured load before the first round (default: 1)
  --settle n            seconds to wait for records that were acknowledged and have not arrived (default: 5)
  --concurrency n       requests under way (default: 64, 32 and 8 for small, middling and large requests)
  --batch timeout/size  the batch processor's settings (default: 5ms/1000)
  --intake size         the agent's service.intake.max_bytes (default: the agent's own)
  --overload n          overload: how many times what the sink takes is offered (default: 3)
  --sink-rate n         overload: records a second the sink takes (default: 30000)
  --row text            collector: only the rows with this text in their name
  --backlog n           backlog: records that wait (default: 1000000)
  --profile folder      write a CPU profile of every Node subject there
  --json [file]         results as JSON into the file, or instead of the tables
  --quick               one short look: 2 rounds of 0.3 s, 4 clients, 100 records, protobuf
  --help, --list
`;

const QUICK = {
  rounds: "2",
  seconds: "0.3",
  warmup: "0.2",
  settle: "0.5",
  clients: "4",
  records: "100",
  encoding: "proto",
};
const USUAL = {
  rounds: "5",
  seconds: "2",
  warmup: "1",
  settle: "5",
  clients: "1,4,16,64",
  records: "1,100,1000",
  encoding: ENCODINGS.join(),
};
const text = /** @type {const} */ ({ type: "string" });
const flag = /** @type {const} */ ({ type: "boolean", default: false });

/** Throws a `UsageError` for invalid arguments. @param {string[]} argv */
export function parseOptions(argv) {
  try {
    return interpret(argv);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

export class UsageError extends Error {}

function interpret(/** @type {string[]} */ argv) {
  const { values, positionals } = parseArgs({
    args: namedJson(argv),
    allowPositionals: true,
    options: {
      scenario: { ...text, default: "shapes,passthrough" },
      signal: { ...text, default: "logs" },
      subjects: { ...text, default: "bare,sluice" },
      peer: { ...text, multiple: true, default: [] },
      batch: { ...text, default: "5ms/1000" },
      batching: { ...text, default: "without,with" },
      queue: { ...text, default: "off,durable" },
      client: { ...text, default: "own" },
      "sink-port": { ...text, default: "0" },
      "sink-rate": { ...text, default: "30000" },
      overload: { ...text, default: "3" },
      backlog: { ...text, default: "1000000" },
      ...{
        clients: text,
        records: text,
        encoding: text,
        rounds: text,
        seconds: text,
        warmup: text,
        settle: text,
        concurrency: text,
      },
      ...{ row: text, intake: text, profile: text, json: text, quick: flag, help: flag, list: flag },
    },
  });
  const chosen = { ...(values.quick ? QUICK : USUAL), ...values };
  const [timeout, size] = chosen.batch.split("/");
  return {
    scenarios: positionals.length > 0 ? positionals : chosen.scenario.split(","),
    signal: /** @type {import("./load/records.js").Signal} */ (oneOf(SIGNALS, chosen.signal, "--signal")),
    encodings: /** @type {import("./load/supply.js").Encoding[]} */ (
      chosen.encoding.split(",").map((name) => oneOf(ENCODINGS, name, "--encoding"))
    ),
    clients: chosen.clients.split(",").map((n) => count(n, "--clients")),
    batching: /** @type {import("./subjects.js").Batching[]} */ (
      chosen.batching.split(",").map((name) => oneOf(["without", "with"], name, "--batching"))
    ),
    queues: chosen.queue.split(",").map((name) => oneOf(["off", "durable"], name, "--queue")),
    client: oneOf(Object.keys(CLIENTS), chosen.client, "--client"),
    records: chosen.records.split(",").map((n) => count(n, "--records", 10_000)),
    subjects: subjectsOf(chosen.subjects, chosen.peer),
    rounds: count(chosen.rounds, "--rounds"),
    seconds: positive(chosen.seconds, "--seconds"),
    warmup: positive(chosen.warmup, "--warmup"),
    settle: positive(chosen.settle, "--settle"),
    concurrency: chosen.concurrency === undefined ? undefined : count(chosen.concurrency, "--concurrency"),
    batch: { timeout, size: count(size, "--batch") },
    sinkPort: Number(chosen["sink-port"]),
    sinkRate: positive(chosen["sink-rate"], "--sink-rate"),
    overload: positive(chosen.overload, "--overload"),
    backlog: count(chosen.backlog, "--backlog"),
    intake: chosen.intake,
    row: chosen.row ?? "",
    profile: chosen.profile,
    json: chosen.json,
    quick: chosen.quick,
    help: chosen.help,
    list: chosen.list,
  };
}

/** `--json` without a value means `--json -`. */
function namedJson(/** @type {string[]} */ argv) {
  return argv.flatMap((argument, i) =>
    argument === "--json" && (argv[i + 1] ?? "--").startsWith("--") ? ["--json=-"] : [argument],
  );
}

function subjectsOf(/** @type {string} */ names, /** @type {string[]} */ peers) {
  const builtin = names.split(",").filter((name) => name !== "");
  const subjects = [
    ...builtin.map((name) => BUILTIN[oneOf(Object.keys(BUILTIN), name, "--subjects")]),
    ...peers.map(peer),
  ];
  if (new Set(subjects.map(({ name }) => name)).size < subjects.length) throw new Error("two subjects of one name");
  if (subjects.filter(({ fixedPorts }) => fixedPorts).length > 1)
    throw new Error("only one peer can listen on 4318: give the others {listen}");
  return subjects;
}

function oneOf(/** @type {string[]} */ known, /** @type {string} */ name, /** @type {string} */ option) {
  if (!known.includes(name)) throw new Error(`${option}: "${name}" is none of ${known.join(", ")}`);
  return name;
}

function positive(/** @type {string} */ value, /** @type {string} */ option) {
  if (!(Number(value) > 0)) throw new Error(`${option}: "${value}" is not a number above 0`);
  return Number(value);
}

function count(/** @type {string} */ value, /** @type {string} */ option, most = Number.MAX_SAFE_INTEGER) {
  const number = positive(value, option);
  if (!Number.isInteger(number) || number > most) throw new Error(`${option}: "${value}" is not a count`);
  return number;
}
