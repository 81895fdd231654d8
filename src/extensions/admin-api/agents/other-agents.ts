import { lookup } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import type { AgentSummary, OtherAgent } from "#contract/api";
import { waitAtMost } from "#contract/time";
import { connectionErrorMessage, loadClientTls, type TlsClientOptions, tlsClient } from "#net";
import { withTimeout } from "#resilience";
import type { Clock } from "../../../plugin.js";
import type { OtherAgentConfig } from "./agents-config.js";
import { readAgent } from "./read-agent.js";

/** How long an answer is shared by all consoles. Agents are asked only while a console shows them. */
const FRESH_MS = 4000;
const READ_MS = 5000;
/** How long a request for the list waits for answers that are under way. */
const WAIT_MS = 2000;
const MAX_AT_ONCE = 16;
const MAX_ADDRESSES = 100;
const MAX_TOKEN_LENGTH = 4096;

interface NamedAgent {
  readonly name: string;
  readonly url: URL;
  readonly consoleUrl: string;
  readonly config: LoadedAgent;
  /** Why its addresses are not known. */
  readonly problem?: string;
}

interface LoadedAgent extends OtherAgentConfig {
  readonly clientTls: TlsClientOptions;
}

/**
 * Reads the state of the agents that the config names, and of no others. Nothing is kept but the last answers, which
 * are bounded; an agent that hangs or answers nonsense is described as such.
 */
export class OtherAgents {
  private readonly configs: readonly LoadedAgent[];
  private readonly clock: Clock;
  private readonly stopped = new AbortController();
  private agents: readonly NamedAgent[];
  private summaries = new Map<string, AgentSummary & { readonly readAt: number }>();
  private refreshedAt = Number.NEGATIVE_INFINITY;
  private refreshing: Promise<void> | undefined;

  private constructor(configs: readonly LoadedAgent[], clock: Clock) {
    this.configs = configs;
    this.clock = clock;
    this.agents = configs.map(asNamed);
  }

  /** Rejects with a `StartError` if a certificate cannot be read. */
  static async load(configs: readonly OtherAgentConfig[], clock: Clock): Promise<OtherAgents> {
    const loaded = configs.map(async (config, i) => ({
      ...config,
      clientTls: await loadClientTls(config.tls ?? tlsClient().parse({}), ["agents", String(i), "tls"]),
    }));
    return new OtherAgents(await Promise.all(loaded), clock);
  }

  /** Never rejects, and takes a few seconds at most. */
  async list(): Promise<readonly OtherAgent[]> {
    if (this.configs.length === 0) return [];
    if (this.refreshing === undefined && this.clock.monotonic() - this.refreshedAt > FRESH_MS) {
      this.refreshing = this.refresh().finally(() => {
        this.refreshing = undefined;
        this.refreshedAt = this.clock.monotonic();
      });
    }
    if (this.refreshing !== undefined) await waitAtMost(WAIT_MS, this.refreshing, this.clock);
    return this.agents.map(({ name, consoleUrl, problem }) => {
      const known = this.summaries.get(name);
      if (problem !== undefined) return { name, consoleUrl, state: "UNREACHABLE", problem };
      return { name, consoleUrl, state: "WAITING", ...known };
    });
  }

  /** Ends all requests. */
  stop(): void {
    this.stopped.abort();
  }

  private async refresh(): Promise<void> {
    const found = (await Promise.all(this.configs.map((config) => this.resolve(config)))).flat();
    this.agents = found.slice(0, MAX_ADDRESSES);
    const names = new Set(this.agents.map(({ name }) => name));
    for (const name of this.summaries.keys()) if (!names.has(name)) this.summaries.delete(name);
    const waiting = this.agents.filter(({ problem }) => problem === undefined);
    const next = async (): Promise<void> => {
      for (let agent = waiting.shift(); agent !== undefined; agent = waiting.shift())
        this.summaries.set(agent.name, { ...(await this.read(agent)), readAt: this.clock.now() });
    };
    await Promise.all(Array.from({ length: MAX_AT_ONCE }, next));
  }

  private async resolve(config: LoadedAgent): Promise<NamedAgent[]> {
    const host = config.url.hostname.replace(/^\[(.*)\]$/, "$1");
    if (!config.dns || isIP(host) !== 0) return [asNamed(config)];
    try {
      const timeout = () => Promise.reject(new Error("the name was not resolved in time"));
      const addresses = await waitAtMost(READ_MS, lookup(host, { all: true }), this.clock, timeout);
      const unique = [...new Set(addresses.map(({ address }) => address))].toSorted();
      return unique.map((address) => atAddress(config, address));
    } catch (error) {
      return [{ ...asNamed(config), problem: connectionErrorMessage(error) }];
    }
  }

  private async read({ url, config }: NamedAgent): Promise<AgentSummary> {
    const token = await readToken(config);
    if (token instanceof Error) return { state: "DENIED", problem: token.message };
    return withTimeout(READ_MS, this.clock, [this.stopped.signal], (signal) =>
      readAgent({ url, token, tls: tlsFor(config) }, signal),
    );
  }
}

function asNamed(config: LoadedAgent): NamedAgent {
  return { name: config.name, url: config.url, consoleUrl: (config.console_url ?? config.url).href, config };
}

function atAddress(config: LoadedAgent, address: string): NamedAgent {
  const url = new URL(config.url);
  url.hostname = isIP(address) === 6 ? `[${address}]` : address;
  return { name: `${config.name} ${address}`, url, consoleUrl: url.href, config };
}

/** An agent that is reached by its address has a certificate for its name. */
function tlsFor({ clientTls, dns, url }: LoadedAgent): TlsClientOptions {
  return dns && clientTls.servername === undefined && isIP(url.hostname) === 0
    ? { ...clientTls, servername: url.hostname }
    : clientTls;
}

async function readToken({ token, token_file: file }: LoadedAgent): Promise<string | undefined | Error> {
  if (file === undefined) return token;
  try {
    const text = (await readFile(file, "utf8")).trim();
    if (text.length > 0 && text.length <= MAX_TOKEN_LENGTH && /^[\x21-\x7e]+$/.test(text)) return text;
    return new Error("its token_file contains no token");
  } catch (error) {
    return new Error(`its token_file cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}
