/** Several processes that work as one agent. */

export { SocketExchange } from "./exchange/socket-exchange.js";
export { adminMethods } from "./face/admin-methods.js";
export { createFace, type Face } from "./face/face.js";
export { answerCalls, IpcCalls, type LinkEnd, type LinkMessage } from "./link/ipc-calls.js";
export { type RemoteCalls, WorkerGoneError } from "./link/remote-calls.js";
export { MergedMetrics, PARENT } from "./metrics/merged-metrics.js";
export { type MetricsSnapshot, WorkerMetrics } from "./metrics/metrics-snapshot.js";
