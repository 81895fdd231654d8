import { type BuiltInExtensionContext, defineBuiltInExtension } from "#contract/built-in";
import { errorMessage } from "#contract/errors";
import type { Extension } from "../../plugin.js";
import { AgentReport } from "./agent-report.js";
import { OpampClient } from "./client.js";
import { type OpampConfig, opampSchema } from "./config.js";
import { HttpLink } from "./http-link.js";
import { parseInstanceUid } from "./instance-uid.js";
import type { ServerLink } from "./link.js";
import { AGENT_CAPABILITIES } from "./messages.js";
import { keptConfig, RemoteConfigs } from "./remote-configs.js";
import { Session } from "./session.js";
import { OpampStorage } from "./storage.js";
import { WebSocketLink } from "./websocket-link.js";

/** Connects the agent to an OpAMP server, which shows and manages a fleet of agents. */
export const opamp = defineBuiltInExtension<OpampConfig>({
  type: "opamp",
  summary: "Reports the agent's identity, health and config to an OpAMP server, which may change the config.",
  runsIn: "parent",
  schema: opampSchema,
  remoteConfig: async ({ capabilities, storage }, id) =>
    capabilities.accepts_remote_config ? keptConfig(new OpampStorage(storage.directory, id)) : [],
  create: (config, context) => new OpampExtension(config, context),
});

class OpampExtension implements Extension {
  private readonly config: OpampConfig;
  private readonly context: BuiltInExtensionContext;
  private readonly storage: OpampStorage;
  private link: ServerLink | undefined;
  private client: OpampClient | undefined;
  private remoteConfigs: RemoteConfigs | undefined;

  constructor(config: OpampConfig, context: BuiltInExtensionContext) {
    this.config = config;
    this.context = context;
    this.storage = new OpampStorage(config.storage.directory, context.id);
  }

  /** Does not wait for the server: an agent runs without it. */
  async start(): Promise<void> {
    const { config, context } = this;
    const { clock, random, logger, metrics, host } = context;
    const report = new AgentReport(config, context);
    const remoteConfigs = this.createRemoteConfigs();
    await remoteConfigs?.start();
    const session = new Session(await this.instanceUid(), {
      clock,
      logger,
      report: (uid) => {
        const status = remoteConfigs?.status();
        const parts = report.read(uid);
        return status === undefined ? parts : parts.set("remoteConfigStatus", status);
      },
      capabilities: capabilitiesOf(config, remoteConfigs !== undefined),
      onRemoteConfig: (offered) => remoteConfigs?.offer(offered),
      keepInstanceUid: (uid) => this.keepInstanceUid(uid),
    });
    const { link, heartbeatMs } = this.createLink(session);
    await link.start();
    this.link = link;
    this.remoteConfigs = remoteConfigs;
    const isReady = () => host.state !== "starting";
    const refresh = host.refresh && (() => host.refresh!());
    this.client = new OpampClient({ clock, random, logger, metrics, link, session, heartbeatMs, isReady, refresh });
    this.client.start();
  }

  async stop(): Promise<void> {
    this.remoteConfigs?.stop();
    await this.client?.stop();
    this.link?.stop();
  }

  private createRemoteConfigs(): RemoteConfigs | undefined {
    const { id, clock, logger, metrics, host } = this.context;
    if (!this.config.capabilities.accepts_remote_config) return undefined;
    const { remoteConfig: control } = host;
    if (control === undefined) {
      logger.warn({}, "accepts_remote_config has no effect: this agent was not started from files");
      return undefined;
    }
    const onChange = () => this.client?.update();
    return new RemoteConfigs({ id, control, storage: this.storage, clock, logger, metrics, onChange });
  }

  /** A poll is a heartbeat too, so over HTTP there is always one. */
  private createLink(session: Session): { readonly link: ServerLink; readonly heartbeatMs: number | undefined } {
    const { server, max_message_size: maxBytes, capabilities, heartbeat_interval } = this.config;
    const { context } = this;
    if (server.http !== undefined) {
      const link = new HttpLink(server.http, maxBytes, context, () => session.uid);
      return { link, heartbeatMs: server.http.polling_interval };
    }
    const heartbeatMs = capabilities.reports_heartbeat ? heartbeat_interval : undefined;
    return { link: new WebSocketLink(server.ws!, maxBytes, context), heartbeatMs };
  }

  private async instanceUid(): Promise<Buffer> {
    const { instance_uid: configured } = this.config;
    if (configured !== undefined) return parseInstanceUid(configured)!;
    return this.storage.instanceUid(this.context.clock.now());
  }

  /** A configured identity is not replaced for good: at the next start the config decides again. */
  private keepInstanceUid(uid: Buffer): void {
    if (this.config.instance_uid !== undefined) return;
    this.storage.keepInstanceUid(uid).catch((error: unknown) => {
      this.context.logger.error({ error: errorMessage(error) }, "the new identity of this agent could not be kept");
    });
  }
}

function capabilitiesOf({ capabilities, server }: OpampConfig, takesConfigs: boolean): number {
  const bits = AGENT_CAPABILITIES;
  return (
    bits.reportsStatus |
    (takesConfigs ? bits.acceptsRemoteConfig | bits.reportsRemoteConfig : 0) |
    (capabilities.reports_effective_config ? bits.reportsEffectiveConfig : 0) |
    (capabilities.reports_health ? bits.reportsHealth : 0) |
    (capabilities.reports_heartbeat || server.http !== undefined ? bits.reportsHeartbeat : 0)
  );
}
