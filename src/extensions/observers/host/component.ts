import { type BuiltInExtension, defineBuiltInExtension } from "#contract/built-in";
import { withoutEnd } from "#text";
import { type ExtensionContext, limitedLog } from "../../../plugin.js";
import { EndpointList } from "../endpoint-list.js";
import { type HostObserverConfig, hostObserverSchema } from "./config.js";
import { listeningEndpoints } from "./listening-sockets.js";

/** Finds the ports on which processes of this machine listen. */
export const hostObserver = defineBuiltInExtension<HostObserverConfig>({
  type: "host_observer",
  summary: "Finds the ports on which processes of this machine listen, for receiver_creator.",
  serves: "observer",
  schema: hostObserverSchema,
  create: (config, context) => new HostObserver(config, context),
});

class HostObserver implements BuiltInExtension {
  private readonly config: HostObserverConfig;
  private readonly context: ExtensionContext;
  private readonly logFailure: (error: unknown) => void;
  readonly endpointObserver = new EndpointList(() => this.poll());

  constructor(config: HostObserverConfig, context: ExtensionContext) {
    this.config = config;
    this.context = context;
    this.logFailure = limitedLog(context.clock, (error, suppressed) =>
      context.logger.warn({ reason: (error as Error).message, suppressed }, "the machine's sockets cannot be read"),
    );
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    this.endpointObserver.stop();
  }

  private poll(): () => void {
    const root = withoutEnd(this.config.root_path, "/");
    let cancel = () => {};
    let isStopped = false;
    const read = async () => {
      const found = await listeningEndpoints(root, this.context.id).catch(this.logFailure);
      if (isStopped) return;
      if (found) this.endpointObserver.set(found);
      if (!isStopped) cancel = this.context.clock.after(this.config.refresh_interval, () => void read());
    };
    void read();
    return () => {
      isStopped = true;
      cancel();
    };
  }
}
