import { defineBuiltInReceiver } from "#contract/built-in";
import { HttpReceiver, listensAtEndpoint } from "#receiving/requests";
import { type WebhookEventConfig, webhookEventSchema } from "./config.js";
import { webhookFormat } from "./format.js";

/** Events that other services POST, as log records. */
export const webhookEventReceiver = defineBuiltInReceiver<WebhookEventConfig>({
  type: "webhook_event",
  aliases: ["webhookevent"],
  summary: "Receives POST requests such as webhooks as log records.",
  signals: ["logs"],
  schema: webhookEventSchema,
  listensAt: listensAtEndpoint,
  handsOver: () => true,
  create(config, context) {
    // The whole request has a limit of its own, as long as that of other receivers.
    const server = { ...config, read_header_timeout: config.read_timeout, read_timeout: 60_000 };
    const settings = { of: "webhooks", config: server, format: webhookFormat(config, context) };
    return new HttpReceiver({ ...settings, paths: { logs: config.path } }, context);
  },
});
