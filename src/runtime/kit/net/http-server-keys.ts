import { z } from "zod";
import { authReference } from "../../contract/schema/auth-reference.js";
import { duration, ignored, section, unsupported } from "../../contract/schema/schema.js";
import { httpHeaders } from "./http-headers.js";
import { tlsServer } from "./tls-config.js";

const BUFFERS = "Node.js sizes its own socket buffers";
const NO_BODIES = "requests have no bodies here";

/** The Collector's keys of an HTTP server whose clients only read: all but where it listens. */
export function readOnlyHttpServerKeys() {
  return {
    tls: section(tlsServer())
      .optional()
      .meta({ description: "Answer over https; with client_ca_file, only to known clients." }),
    auth: authReference("server")
      .nullish()
      .meta({ description: "Answers only clients that an extension knows; without it, everyone." }),
    response_headers: httpHeaders().nullish().meta({ description: "Headers that every answer gets." }),
    read_timeout: duration()
      .default(60_000)
      .meta({ description: "How long a client may take to send a whole request." }),
    read_header_timeout: duration()
      .default(60_000)
      .meta({ description: "How long it may take to send the head of one." }),
    write_timeout: duration().default(30_000).meta({ description: "How long a client may leave its answer unread." }),
    idle_timeout: duration().default(60_000).meta({ description: "How long a silent connection is kept." }),
    keep_alives_enabled: z.boolean().default(true).meta({ description: "Keep connections open for the next request." }),
    cors: ignored("nothing is sent from browsers here"),
    max_request_body_size: ignored(NO_BODIES),
    compression_algorithms: ignored(NO_BODIES),
    include_metadata: ignored(NO_BODIES),
    read_buffer_size: ignored(BUFFERS),
    write_buffer_size: ignored(BUFFERS),
    middlewares: unsupported("middlewares are extensions of the Collector that do not exist here"),
  };
}
