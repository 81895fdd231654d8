/** The shell of receivers that listen for requests: their HTTP server, and the parts that it shares with gRPC. */

export { HttpEndpoint } from "./http-endpoint.js";
export { HttpReceiver, listensAtEndpoint } from "./http-receiver.js";
export { IncomingRequest } from "./incoming-request.js";
export { createRefusedCounters, onRefusedConnection } from "./refused-requests.js";
export {
  type BodyEncoding,
  type FormatAnswer,
  type ReceivedHead,
  type RequestBatches,
  type RequestFormat,
  type RequestRefusals,
  standardRefusals,
} from "./request-format.js";
export {
  createRequestIntakes,
  InFlightCounter,
  type RequestDedup,
  type RequestIntake,
  STOP_GRACE_MS,
} from "./request-intake.js";
export {
  type HttpServerConfig,
  httpServerKeys,
  listenerKeys,
  type ReceiverLimits,
  receiverLimits,
  SOCKET_BUFFERS,
} from "./server-keys.js";
export { joinPieces, UploadRoom } from "./upload.js";
