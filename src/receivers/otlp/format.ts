import { contentTypeOf, encodingOf, serviceOfGrpcPath } from "#net/otlp";
import { batchFromJsonInSteps } from "#otlp/json";
import { joinPieces, type RequestFormat, standardRefusals } from "#receiving/requests";
import { Batch, type Signal } from "../../plugin.js";

/** A format that is also spoken over gRPC. */
export interface GrpcFormat extends RequestFormat {
  /** Returns undefined if there is no such method. */
  signalOfGrpcPath(path: string | undefined): Signal | undefined;
  toBatch: NonNullable<RequestFormat["toBatch"]>;
}

const PROTOBUF = contentTypeOf("proto");

/** OTLP in protobuf and JSON. */
export const OTLP_FORMAT: GrpcFormat = {
  refusals: standardRefusals("OTLP", "application/x-protobuf or application/json"),
  signalOfGrpcPath: (path) => serviceOfGrpcPath(path)?.signal,
  encodingOf: (contentType) => (contentType === PROTOBUF ? "proto" : encodingOf(contentType)),
  toBatch(signal, encoding, body, maxElements) {
    if (encoding === "proto") return Batch.admitPieces(signal, body, maxElements);
    return batchFromJsonInSteps(signal, joinPieces(body), maxElements);
  },
};
