/**
 * For programs that log with pino. The default export is the transport for pino's worker; `sluiceTransport` survives a
 * crash of the worker.
 */
export {
  type SupervisedOptions,
  type SupervisedTransport,
  sluiceTransport,
} from "./agent/embed/pino/supervised-transport.js";
export { type PinoTransportOptions, transport as default } from "./agent/embed/pino/worker.js";
