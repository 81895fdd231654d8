import { defineBuiltInReceiver } from "#contract/built-in";
import { HttpReceiver, listensAtEndpoint } from "#receiving/requests";
import { type RemoteWriteReceiverConfig, remoteWriteReceiverSchema } from "./config.js";
import { remoteWriteFormat } from "./format.js";

/** Samples that Prometheus or another client pushes with remote write. */
export const remoteWriteReceiver = defineBuiltInReceiver<RemoteWriteReceiverConfig>({
  type: "prometheus_remote_write",
  aliases: ["prometheusremotewrite"],
  summary: "Receives metrics by Prometheus's remote write, 2.0 and 1.0.",
  signals: ["metrics"],
  // The attributes of resources arrive in requests of their own, which every later request needs.
  workers: "one",
  schema: remoteWriteReceiverSchema,
  listensAt: listensAtEndpoint,
  handsOver: () => true,
  create: (config, context) =>
    new HttpReceiver(
      { of: "remote write", config, format: remoteWriteFormat(), paths: { metrics: "/api/v1/write" } },
      context,
    ),
});
