/** Requests to one server: POST, gRPC, small requests. */

export { grpcClientKeys } from "../grpc/client-keys.js";
export { GrpcClient } from "../grpc/grpc-client.js";
export { answerReader } from "./answer-reader.js";
export { clientSettings, HttpPoster, plainText, withHeaders } from "./http-poster.js";
export { PostersInTurn } from "./posters-in-turn.js";
export { piecesOf, recordsOfPiece } from "./record-pieces.js";
export { type RecordRequest, sendEach } from "./send-each.js";
export { type SmallAnswer, sendSmallRequest } from "./small-request.js";
export { type SpanBodies, type SpanBody, SpanPoster } from "./span-poster.js";
