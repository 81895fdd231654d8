import { z } from "zod";
import { httpServerKeys } from "#receiving/requests";
import { ignored } from "../../../plugin.js";

const NO_BODIES = "the pages accept no bodies";

export const zpagesSchema = z.strictObject({
  ...httpServerKeys("127.0.0.1:55679"),
  cors: ignored("pages of other origins may not read these"),
  include_metadata: ignored("nothing is kept of requests"),
  max_request_body_size: ignored(NO_BODIES),
  compression_algorithms: ignored(NO_BODIES),
  response_headers: ignored("the pages have headers of their own"),
  expvar: ignored("it is about Go; the agent's metrics are at :8888/metrics"),
});

export type ZpagesConfig = z.infer<typeof zpagesSchema>;
