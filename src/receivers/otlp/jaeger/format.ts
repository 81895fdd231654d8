import { type Batch, MalformedError } from "../../../plugin.js";
import { JAEGER_GRPC_PATH } from "../../../runtime/kit.js";
import { joined } from "../body-chunks.js";
import type { RequestFormat } from "../request-intake.js";
import { BinaryProtocol } from "./binary-protocol.js";
import { readPostSpans } from "./read-proto.js";
import { readThriftBatch } from "./read-thrift.js";
import { THRIFT, type ThriftReader } from "./thrift-reader.js";
import { JaegerBatchWriter } from "./write-otlp.js";

/** What Jaeger's clients send over gRPC (protobuf) and HTTP (thrift). */
export const JAEGER_FORMAT: RequestFormat = {
  name: "thrift of Jaeger",
  contentTypes: "application/x-thrift",
  signalOfGrpcPath: (path) => (path === JAEGER_GRPC_PATH ? "traces" : undefined),
  encodingOf(contentType) {
    const mediaType = contentType?.split(";", 1)[0]?.trim().toLowerCase();
    const isThrift = mediaType === "application/x-thrift" || mediaType === "application/vnd.apache.thrift.binary";
    return isThrift ? "thrift" : undefined;
  },
  toBatch(_signal, encoding, body, maxElements) {
    const bytes = joined(body);
    return encoding === "thrift"
      ? batchOfThrift(new BinaryProtocol(bytes, maxElements), maxElements)
      : batchOfProto(bytes, maxElements);
  },
};

function batchOfProto(bytes: Buffer, maxElements: number): Batch {
  const writer = new JaegerBatchWriter();
  const process = readPostSpans(bytes, maxElements, (span) => writer.add(span));
  return writer.finish(process, maxElements);
}

/** The batch of a message to Jaeger's agent, such as a packet of UDP has. */
export function batchOfMessage(reader: ThriftReader, maxElements: number): Batch {
  const name = reader.readMessageName();
  if (name !== "emitBatch")
    throw new MalformedError(`no thrift of Jaeger: the call ${JSON.stringify(name.slice(0, 50))} is not emitBatch`, -1);
  let batch: Batch | undefined;
  reader.readStruct((id, type) => {
    if (id !== 1 || type !== THRIFT.struct || batch !== undefined) return false;
    batch = batchOfThrift(reader, maxElements, false);
    return true;
  });
  if (batch === undefined) throw new MalformedError("no thrift of Jaeger: emitBatch without a batch", -1);
  return batch;
}

function batchOfThrift(reader: ThriftReader, maxElements: number, isAll = true): Batch {
  const writer = new JaegerBatchWriter();
  const process = readThriftBatch(reader, (span) => writer.add(span));
  if (isAll && !reader.isAtEnd) throw new MalformedError("no thrift of Jaeger: something follows the batch", -1);
  return writer.finish(process, maxElements);
}
