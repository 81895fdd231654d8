import type { Batch } from "#otlp";
import { MalformedError } from "#otlp/signals";
import { joinPieces, standardRefusals } from "#receiving/requests";
import { JAEGER_GRPC_PATH } from "#traces";
import { atOnce } from "#work";
import type { GrpcFormat } from "../format.js";
import { BinaryProtocol } from "./binary-protocol.js";
import { batchOfProto } from "./read-proto.js";
import { batchOfThrift } from "./read-thrift.js";
import { THRIFT, type ThriftReader } from "./thrift-reader.js";

/** The requests of Jaeger's clients over gRPC (protobuf) and HTTP (thrift). */
export const JAEGER_FORMAT: GrpcFormat = {
  refusals: standardRefusals("thrift of Jaeger", "application/x-thrift"),
  signalOfGrpcPath: (path) => (path === JAEGER_GRPC_PATH ? "traces" : undefined),
  encodingOf(contentType) {
    const mediaType = contentType?.split(";", 1)[0]?.trim().toLowerCase();
    const isThrift = mediaType === "application/x-thrift" || mediaType === "application/vnd.apache.thrift.binary";
    return isThrift ? "other" : undefined;
  },
  toBatch(_signal, encoding, body, maxElements) {
    const bytes = joinPieces(body);
    return encoding === "other"
      ? batchOfThrift(new BinaryProtocol(bytes, maxElements), maxElements)
      : batchOfProto(bytes, maxElements);
  },
};

/** The field id of the batch among the arguments of emitBatch. */
const EMIT_BATCH_BATCH = 1;

/** Reads the batch of a message to Jaeger's agent, such as a UDP packet. */
export function batchOfMessage(reader: ThriftReader, maxElements: number): Batch {
  const name = reader.readMessageName();
  if (name !== "emitBatch")
    throw new MalformedError(`no thrift of Jaeger: the call ${JSON.stringify(name.slice(0, 50))} is not emitBatch`, -1);
  let batch: Batch | undefined;
  const outer = reader.beginStruct();
  for (let id = reader.nextField(); id >= 0; id = reader.nextField()) {
    const type = reader.fieldType;
    if (id !== EMIT_BATCH_BATCH || type !== THRIFT.struct || batch !== undefined) reader.skip(type);
    else batch = atOnce(batchOfThrift(reader, maxElements, false));
  }
  reader.endStruct(outer);
  if (batch === undefined) throw new MalformedError("no thrift of Jaeger: emitBatch without a batch", -1);
  return batch;
}
