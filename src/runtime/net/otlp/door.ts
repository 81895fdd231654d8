/** OTLP over HTTP and gRPC: paths, frames, statuses, answers, refusals. */

export { claimedLength, type FrameFault, GRPC_FRAME_HEADER, grpcFrame, singleFrame } from "./grpc-frame.js";
export { encodeGrpcMessage, GRPC_STATUS, grpcStatusName, parseGrpcTimeout } from "./grpc-status.js";
export { bytesField, intField, readWholeFields, textField } from "./proto-fields.js";
export {
  answerOfRefusal,
  type ErrorAnswer,
  parseRetryAfter,
  refusalOfAbort,
  refusalOfConnection,
  refusalOfHttp,
  refusalOfUnreadable,
  retryAfterSeconds,
} from "./refusals.js";
export { decodeResponse, encodeResponse } from "./response.js";
export { decodeStatus, encodeStatus, type RpcStatus } from "./rpc-status.js";
export {
  availableCompression,
  checkByEmptyExport,
  resendIfStale,
  SendKeys,
  sendHeaders,
  wordOrNone,
} from "./sending.js";
export { contentTypeOf, encodingOf, OTLP_SERVICES, type OtlpEncoding, serviceOfGrpcPath } from "./services.js";
