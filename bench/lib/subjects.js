import { fileURLToPath } from "node:url";
import { sluiceConfig } from "./sluice-config.js";

/**
 * Programs under test. A subject describes how it is started between client and sink; the runner treats all of them the
 * same.
 *
 * @typedef {{ http: number, grpc: number, health: number, sink: number }} Ports
 * @typedef {{ ports: Ports, signal: import("./load/records.js").Signal, encoding: import("./load/supply.js").Encoding,
 *   batch: { timeout: string, size: number }, intake?: string | undefined, folder: string, queue?: Queue,
 *   processors?: Record<string, object>, batching?: Batching, client?: string, workers?: number }} Place processors come before the batch
 *   processor; client: how the bare forwarder sends
 * @typedef {"with" | "without"} Batching a batch processor with its defaults, or none; else one with the place's settings
 * @typedef {{ durability: "fsync" | "process", exporter?: object, beside?: number }} Queue
 *   keep everything on disk before answering; `exporter` are more keys of the agent's exporter, `beside` is the port of
 *   a second exporter's backend
 * @typedef {{ argv?: string[], shell?: string, env?: Record<string, string>, files?: Record<string, string> }} Command
 *   argv is run with this Node; shell by the shell; files are written into the place's folder first
 * @typedef {{ name: string, fixedPorts?: boolean, ignoresBatching?: boolean, skips?(encoding: string): boolean,
 *   command(place: Place): Command }} Subject ignoresBatching: there is one form of it, which does what it does
 */
const file = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));

/** @type {Subject} */
const bare = {
  name: "bare",
  command: ({ ports, folder, queue, batching, client = "node" }) => ({
    argv: [
      ...(queue === undefined
        ? [file("../roles/bare.js"), `${ports.http}`, `${ports.sink}`, `${ports.grpc}`]
        : [file("../roles/bare-durable.js"), `${ports.http}`, `${ports.sink}`, `${folder}/queue`, queue.durability]),
      ...(batching === "with" ? ["--merging"] : []),
      `--client=${client}`,
    ],
  }),
};

/** @type {Subject} */
export const sluice = {
  name: "sluice",
  command: (place) => ({
    argv: [file("../../bin/sluice.js"), "run", "--config", `${place.folder}/sluice.yaml`],
    files: { "sluice.yaml": sluiceConfig(place) },
  }),
};

/** The agent with these processors before the batch processor. @returns {Subject} */
export function sluiceWith(/** @type {string} */ name, /** @type {Record<string, object>} */ processors) {
  return { name, command: (place) => sluice.command({ ...place, processors }) };
}

/** The same program with and without a batch processor: the bare forwarder merges, or does not. @returns {Subject} */
export function withBatching(/** @type {Subject} */ subject, /** @type {Batching} */ batching) {
  const name = batching === "with" ? `${subject.name}+batch` : subject.name;
  return { ...subject, name, command: (place) => subject.command({ ...place, batching }) };
}

/** @type {Record<string, Subject>} */
export const BUILTIN = { bare, sluice };

/**
 * Another program, from `name=command`. `{listen}`, `{grpc}`, `{sink}` and `{health}` in the command become ports. Its
 * environment has BENCH_LISTEN, BENCH_GRPC, BENCH_SINK, BENCH_HEALTH, BENCH_COMPRESSION, BENCH_SIGNAL, BENCH_DURABILITY
 * (none, fsync or process), BENCH_BATCH (with or without) and BENCH_FOLDER, a folder for its data. A command that
 * mentions no listening port is assumed to listen on 4318. One that does not mention gRPC skips gRPC cells, and one
 * that does not mention BENCH_BATCH has only one form.
 *
 * @param {string} text @returns {Subject}
 */
export function peer(text) {
  const at = text.indexOf("=");
  if (at < 1 || at === text.length - 1) throw new Error(`--peer takes name=command, not "${text}"`);
  const command = text.slice(at + 1);
  const speaksGrpc = /\{grpc\}|BENCH_GRPC/.test(command);
  return {
    name: text.slice(0, at),
    fixedPorts: !/\{listen\}|BENCH_LISTEN/.test(command),
    ignoresBatching: !command.includes("BENCH_BATCH"),
    skips: (encoding) => encoding === "grpc" && !speaksGrpc,
    command: ({ ports, encoding, signal, folder, queue, batching = "with" }) => ({
      shell: command.replace(/\{(listen|grpc|sink|health)\}/g, (_, name) =>
        String(ports[/** @type {keyof Ports} */ (name === "listen" ? "http" : name)]),
      ),
      env: {
        BENCH_LISTEN: String(ports.http),
        BENCH_GRPC: String(ports.grpc),
        BENCH_SINK: String(ports.sink),
        BENCH_HEALTH: String(ports.health),
        BENCH_COMPRESSION: encoding === "gzip" ? "gzip" : "none",
        BENCH_SIGNAL: signal,
        BENCH_FOLDER: folder,
        BENCH_DURABILITY: queue?.durability ?? "none",
        BENCH_BATCH: batching,
      },
    }),
  };
}
