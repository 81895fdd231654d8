/** Requests to one server: POST, gRPC, small requests. */

export { grpcClientKeys } from "../grpc/client-keys.js";
export { GrpcClient } from "../grpc/grpc-client.js";
export { answerReader, clientSettings, HttpPoster, PostersInTurn, plainText } from "./http-poster.js";
export { piecesOf, type RecordRequest, recordsBetween, recordsOfPiece, sendEach } from "./send-each.js";
export { type SmallAnswer, sendSmallRequest } from "./small-request.js";
export { type SpanBodies, type SpanBody, SpanPoster } from "./span-poster.js";
