import type { ExtensionSpec, ResolvedConfig } from "#config/resolve";
import type { Exporter } from "#contract";
import { checkComponent } from "#contract/border";
import type { BuiltInExtension } from "#contract/built-in";
import type { GraphParts, RunningExporter, RunningJournal, RunningReceiver } from "#pipeline";
import type { ComponentRunner, StartedComponent } from "./component-runner.js";

export interface StartedExtension extends StartedComponent {
  readonly extension: BuiltInExtension;
}

/**
 * The started components of an agent, by id. Each method starts one component and adds it, so that a stop finds it. If
 * the agent is stopping already, the component is stopped again, and the start rejects.
 */
export class RunningParts {
  /** In the order in which they were started. */
  readonly extensions = new Map<string, StartedExtension>();
  readonly exporters = new Map<string, StartedComponent>();
  readonly outlets = new Map<string, StartedComponent>();
  readonly journals = new Map<string, StartedComponent>();
  readonly receivers = new Map<string, StartedComponent>();
  private readonly runner: ComponentRunner;
  /** Makes an extension with its context. */
  private readonly createExtension: (spec: ExtensionSpec) => BuiltInExtension;
  private readonly isStopping: () => boolean;

  constructor(runner: ComponentRunner, createExtension: RunningParts["createExtension"], isStopping: () => boolean) {
    this.runner = runner;
    this.createExtension = createExtension;
    this.isStopping = isStopping;
  }

  async startExtension(spec: ExtensionSpec): Promise<StartedExtension> {
    const start = async () => {
      await spec.factory.prepareCreate?.();
      const created = checkComponent("extension", this.createExtension(spec));
      await created.start();
      return created;
    };
    const extension = await this.runner.start(spec, start, (created) => created.stop());
    return this.add(this.extensions, { id: spec.id, extension, stop: () => extension.stop() });
  }

  async startExporter(spec: RunningExporter["spec"], exporter: Exporter): Promise<StartedComponent> {
    const stop = async () => exporter.stop?.();
    await this.runner.start(spec, async () => exporter.start?.(), stop);
    return this.add(this.exporters, { id: spec.id, stop });
  }

  async startOutlet({ spec, outlet }: RunningExporter): Promise<StartedComponent> {
    await this.runner.start(spec, async () => outlet.start?.());
    return this.add(this.outlets, { id: spec.id, stop: async () => outlet.stop?.() });
  }

  async startJournal({ path, journal, name }: RunningJournal, config: ResolvedConfig): Promise<StartedComponent> {
    const spec = { path: path.join("."), placeOf: () => config.placeOf(path) };
    await this.runner.start(spec, () => journal.start());
    return this.add(this.journals, { id: name, stop: () => journal.stop() });
  }

  async startReceiver({ spec, receiver }: RunningReceiver): Promise<StartedComponent> {
    const stop = () => receiver.stop();
    await this.runner.start(spec, () => receiver.start(), stop);
    return this.add(this.receivers, { id: spec.id, stop });
  }

  /** Starts all parts of a graph; receivers come last, when `onReady` has resolved. */
  async startAll(parts: GraphParts, config: ResolvedConfig, onReady: () => Promise<void>): Promise<void> {
    for (const exporter of parts.exporters.values()) {
      await this.startExporter(exporter.spec, exporter.exporter);
      await this.startOutlet(exporter);
    }
    for (const journal of parts.journals) await this.startJournal(journal, config);
    await onReady();
    for (const receiver of parts.receivers.values()) await this.startReceiver(receiver);
  }

  /** Without an await before the component is added, because a stop would not find it. */
  private async add<T extends StartedComponent>(to: Map<string, T>, started: T): Promise<T> {
    const component = stoppedOnce(started);
    if (this.isStopping()) {
      await this.runner.stopAll([component]);
      throw stoppedWhileStarting();
    }
    to.set(component.id, component);
    return component;
  }
}

/** A stop of the agent and a reload that fails meanwhile may both stop a component. */
function stoppedOnce<T extends StartedComponent>(component: T): T {
  let stopping: Promise<void> | undefined;
  return { ...component, stop: () => (stopping ??= component.stop()) };
}

export function stoppedWhileStarting(): Error {
  return new Error("the agent was stopped while it was starting");
}

/** Takes a component out of those that run, if it is among them. */
export function taken<T>(all: Map<string, T>, id: string): T[] {
  const found = all.get(id);
  all.delete(id);
  return found === undefined ? [] : [found];
}
