/** For programs that log with pino: its worker's transport by default, and one that survives the worker. */
export {
  type SupervisedOptions,
  type SupervisedTransport,
  sluiceTransport,
} from "./agent/embed/pino/supervised-transport.js";
export { type PinoTransportOptions, transport as default } from "./agent/embed/pino/worker.js";
