import { z } from "zod";
import { httpClientKeys, httpUrl } from "#net";
import { counter, type MetricTable, metricKeys, scrapingKeys, upDown } from "#receiving";
import { duration, ignored } from "../../plugin.js";

export const NGINX_METRICS: MetricTable = {
  "nginx.connections_accepted": counter("{connections}", "Connections accepted since the start."),
  "nginx.connections_handled": counter(
    "{connections}",
    "Connections handled; fewer than accepted if a limit was reached.",
  ),
  "nginx.requests": counter("{requests}", "Requests since the start."),
  "nginx.connections_current": upDown("{connections}", "Connections by state: active, reading, writing, waiting."),
};

export const nginxSchema = z.strictObject({
  ...httpClientKeys(),
  endpoint: httpUrl()
    .prefault("http://localhost:80/status")
    .meta({ description: "The URL of the page that stub_status makes." }),
  ...scrapingKeys(10_000),
  timeout: duration().default(10_000).meta({ description: "How long the server may take to answer; 0 means an hour." }),
  compression: ignored("the request has no body"),
  ...metricKeys(NGINX_METRICS),
});

export type NginxConfig = z.infer<typeof nginxSchema>;
