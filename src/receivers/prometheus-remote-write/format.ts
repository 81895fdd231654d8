import { joinPieces, type RequestFormat, standardRefusals } from "#receiving/requests";
import { readRequest } from "./read-request.js";
import { KnownResources, RemoteWriteBatch } from "./remote-write-batch.js";

const V1 = "other/v1";
const V2 = "other/v2";
const MESSAGES: Readonly<Record<string, typeof V1 | typeof V2>> = {
  "prometheus.WriteRequest": V1,
  "io.prometheus.write.v2.Request": V2,
};
const HEADER = "X-Prometheus-Remote-Write";
const TYPES = "application/x-protobuf, with proto=io.prometheus.write.v2.Request for version 2.0";

/** Requests of remote write. Clients get plain text, and 204 for what was taken. */
export function remoteWriteFormat(): RequestFormat {
  const resources = new KnownResources();
  return {
    refusals: standardRefusals("Remote write", TYPES),
    encodingOf: (contentType) => encodingOf(contentType ?? ""),
    // Prometheus drops samples for which it gets 429, unless it is told otherwise.
    answerError: ({ httpStatus, message }) => ({
      status: httpStatus === 429 ? 503 : httpStatus,
      contentType: "text/plain; charset=utf-8",
      body: `${message}\n`,
    }),
    *toBatches(_head, encoding, pieces, maxElements) {
      const request = readRequest(joinPieces(pieces), encoding === V2, maxElements);
      const batch = new RemoteWriteBatch(request, resources, maxElements);
      yield* batch.read();
      const { samples, histograms, exemplars } = batch.written;
      return {
        batches: batch.finish(),
        success: {
          status: 204,
          headers: [
            `${HEADER}-Samples-Written`,
            String(samples),
            `${HEADER}-Histograms-Written`,
            String(histograms),
            `${HEADER}-Exemplars-Written`,
            String(exemplars),
          ],
          body: "",
        },
      };
    },
  };
}

/** Version 1.0 need not name its message. */
function encodingOf(contentType: string): typeof V1 | typeof V2 | undefined {
  const [media = "", ...parameters] = contentType.split(";").map((part) => part.trim());
  if (media !== "application/x-protobuf") return undefined;
  for (const parameter of parameters) {
    const [name, value, ...rest] = parameter.split("=").map((part) => part.trim());
    if (value === undefined || rest.length > 0) return undefined;
    if (name === "proto") return Object.hasOwn(MESSAGES, value) ? MESSAGES[value] : undefined;
  }
  return V1;
}
