import { isDeepStrictEqual } from "node:util";
import type { LoadedConfig } from "#config";
import type { ExtensionSpec, ResolvedConfig } from "#config/resolve";
import { type Problem, problemLine } from "#config/text";
import type { RemoteConfigControl, RemoteConfigFile, RemoteConfigResult } from "#contract/operations";
import type { ConfigCandidate } from "./config-reloader.js";
import { privilegedChanges } from "./privileged-changes.js";
import { authenticatorsIn } from "./reload-plan.js";

type Load = (files: readonly RemoteConfigFile[]) => Promise<LoadedConfig>;
type Reload = (
  candidate: ConfigCandidate,
) => Promise<{ readonly outcome: string; readonly problems: readonly ShownProblem[] }>;

interface ShownProblem {
  readonly severity: string;
  readonly message: string;
  readonly place?: string;
}

/**
 * The files that a management server has sent, which are merged after those named by `--config` and before `--set`. They are
 * part of every reload. The extension that has kept them must stay as the agent's own files say: a server cannot
 * replace itself. Privileged keys must stay, too.
 */
export class RemoteSources implements RemoteConfigControl {
  private files: readonly RemoteConfigFile[] = [];
  private readonly loadWith: Load;
  private reload: Reload | undefined;
  startProblem: string | undefined;

  constructor(loadWith: Load) {
    this.loadWith = loadWith;
  }

  /** Loads the whole config at the start. A kept remote config that does not fit any more is left out. */
  async loadFirst(): Promise<LoadedConfig> {
    const own = await this.loadWith([]);
    this.files = own.config === undefined ? [] : await keptFiles(own.config);
    if (this.files.length === 0) return own;
    const whole = await this.load();
    if (whole.config !== undefined) return whole;
    this.files = [];
    this.startProblem = errorsOf(whole).join("\n");
    return own;
  }

  /**
   * To be called when the agent could not start with the config of `loadFirst`. Returns the config without the files of
   * the server; undefined if there were none, or if the agent's own files have errors.
   */
  async loadWithout(problems: readonly Problem[]): Promise<LoadedConfig | undefined> {
    if (this.files.length === 0) return undefined;
    const own = await this.loadWith([]);
    if (own.config === undefined) return undefined;
    this.files = [];
    this.startProblem = problems.map(problemLine).join("\n");
    return own;
  }

  /** Loads the whole config as it is now. */
  load(): Promise<LoadedConfig> {
    return this.loadWhole(this.files);
  }

  private async loadWhole(files: readonly RemoteConfigFile[]): Promise<LoadedConfig> {
    const whole = await this.loadWith(files);
    if (files.length === 0 || whole.config === undefined) return whole;
    const own = await this.loadWith([]);
    if (own.config === undefined) return own;
    const problems = [...takeovers(own.config, whole.config), ...privilegedChanges(own.config, whole.config)];
    if (problems.length === 0) return whole;
    const { config: _, ...rest } = whole;
    return { ...rest, problems: [...problems, ...whole.problems] };
  }

  /** The files that are part of the config now. */
  get current(): readonly RemoteConfigFile[] {
    return this.files;
  }

  /** Reloads with the function that the agent has for it. */
  useReload(reload: Reload): void {
    this.reload = reload;
  }

  async apply(files: readonly RemoteConfigFile[]): Promise<RemoteConfigResult> {
    const onUsed = () => {
      this.files = files;
    };
    try {
      const { outcome, problems } = await this.reload!({ load: () => this.loadWhole(files), onUsed });
      const isApplied = outcome === "applied" || outcome === "unchanged";
      return { isApplied, problems: isApplied ? [] : problems.filter(isError).map(shownLine) };
    } catch (error) {
      return { isApplied: false, problems: [String(error)] };
    }
  }
}

async function keptFiles({ extensions }: ResolvedConfig): Promise<RemoteConfigFile[]> {
  const kept = [...extensions.values()].map(
    async ({ factory, config, id }) => (await factory.remoteConfig?.(config, id)) ?? [],
  );
  return (await Promise.all(kept)).flat();
}

function takeovers(own: ResolvedConfig, whole: ResolvedConfig): Problem[] {
  const takers = [...own.extensions.values()].filter(({ factory }) => factory.remoteConfig !== undefined);
  const changed = withAuthenticators(takers, own).filter(
    ({ config, id }) => !isDeepStrictEqual(config, whole.extensions.get(id)?.config),
  );
  const why = (id: string) =>
    takers.some((taker) => taker.id === id)
      ? "takes remote configs"
      : "gives credentials for the server of remote configs";
  return changed.map(({ id, path }) => ({
    severity: "error",
    code: "remote_takeover",
    place: undefined,
    path,
    message: `a remote config cannot change or remove the extension ${id}, which ${why(id)}`,
  }));
}

/** The extensions, and those that give them credentials. */
function withAuthenticators(
  takers: readonly ExtensionSpec[],
  { extensions }: ResolvedConfig,
): readonly ExtensionSpec[] {
  const all = new Set(takers);
  for (const { written } of all)
    for (const id of authenticatorsIn(written)) {
      const authenticator = extensions.get(id);
      if (authenticator !== undefined) all.add(authenticator); // the loop comes to it too
    }
  return [...all];
}

function errorsOf({ problems }: LoadedConfig): string[] {
  return problems.filter(isError).map(problemLine);
}

function isError({ severity }: { readonly severity: string }): boolean {
  return severity === "error";
}

function shownLine({ message, place }: ShownProblem): string {
  return place === undefined ? message : `${place}: ${message}`;
}
