import { z } from "zod";
import { httpClientKeys, httpUrl } from "#net";
import { httpServerKeys } from "#receiving/requests";
import { duration, ignored, section } from "../../plugin.js";

const NOT_READ = "bodies are passed on as they are";

const ingress = z.strictObject({
  ...httpServerKeys("0.0.0.0:6060"),
  cors: ignored("the target server answers browsers"),
  include_metadata: ignored("nothing is kept of requests"),
  max_request_body_size: ignored(NOT_READ),
  compression_algorithms: ignored(NOT_READ),
  response_headers: ignored("the target server sets the headers of an answer"),
});

const egress = z.strictObject({
  ...httpClientKeys(),
  endpoint: httpUrl().meta({ description: "The URL of the server that gets the requests; its path has no effect." }),
  timeout: duration()
    .default(10_000)
    .meta({ description: "How long that server may take until its answer begins, and between two parts of it." }),
  compression: ignored(NOT_READ),
});

export const httpForwarderSchema = z.strictObject({
  ingress: section(ingress).prefault({}).meta({ description: "Where requests come in." }),
  egress: section(egress).meta({ description: "Where they go." }),
});

export type HttpForwarderConfig = z.infer<typeof httpForwarderSchema>;
