import type { Authenticators, AuthHeaders, ClientAuthenticator, Logger, ServerAuthenticator } from "#contract";
import { isLocalHost, withoutSecrets } from "#net/auth";

interface AuthKeys {
  readonly authenticator: string;
}

/** The agent's authenticators for its own telemetry, which starts before them. */
export class OwnAuthenticators {
  private started: Authenticators | undefined;
  private isOver = false;
  private end = () => {};
  private readonly ended = new Promise<void>((resolve) => {
    this.end = resolve;
  });

  use(started: Authenticators): void {
    this.started = started;
    this.end();
  }

  /** Rejects everyone who waits: the authenticators will never start. */
  giveUp(): void {
    this.isOver = true;
    this.end();
  }

  /** Throws until they have started. */
  get(): Authenticators {
    if (this.started === undefined) throw new Error("the authenticators have not started");
    return this.started;
  }

  /** Waits until they have started; rejects when they never do. */
  async wait(): Promise<Authenticators> {
    if (this.started === undefined && !this.isOver) await this.ended;
    return this.get();
  }
}

/** Looks up an extension's authenticator with every request; rejects all requests until it has started. */
export function lateServerAuthenticator(
  { authenticator }: AuthKeys,
  authenticators: OwnAuthenticators,
): ServerAuthenticator {
  const find = () => authenticators.get().server(authenticator);
  return {
    get challenge() {
      return find().challenge;
    },
    authenticate: (request) => find().authenticate(request),
  };
}

interface OwnCredentialsServices {
  readonly authenticators: OwnAuthenticators;
  readonly logger: Logger;
}

/** Credentials for the server that receives the agent's own telemetry. */
export class OwnCredentials {
  private readonly id: string;
  private readonly url: URL;
  private readonly services: OwnCredentialsServices;
  private found: ClientAuthenticator | undefined;
  private shown: AuthHeaders = {};

  constructor({ authenticator }: AuthKeys, url: string, services: OwnCredentialsServices) {
    this.id = authenticator;
    this.url = new URL(url);
    this.services = services;
  }

  /** Rejects while there are none: the export fails and is retried later. */
  async addTo(headers: Readonly<Record<string, string>> = {}): Promise<Record<string, string>> {
    const authenticator = (this.found ??= this.check((await this.services.authenticators.wait()).client(this.id)));
    this.shown = await authenticator.authorize({ method: "POST", url: this.url, headers, body: new Uint8Array() });
    const all = Object.entries({ ...lowerCase(headers), ...this.shown });
    return Object.fromEntries(all.filter((header): header is [string, string] => header[1] !== undefined));
  }

  /** Removes credentials from the error of an export; discards credentials that the server rejected. */
  onFailure(error: (Error & { readonly code?: unknown }) | undefined): Error | undefined {
    if (error === undefined) return undefined;
    if (error.code === 401 || error.code === 403) this.found?.refused?.(this.shown);
    const message = withoutSecrets(error.message, this.shown);
    return message === error.message ? error : new Error(message);
  }

  private check(found: ClientAuthenticator): ClientAuthenticator {
    if (found.isHttpOnly)
      throw new Error(`"${this.id}" signs the bodies of requests, which the agent's own telemetry does not show it`);
    if (
      found.isConfidential &&
      this.url.protocol === "http:" &&
      !isLocalHost(this.url.hostname.replace(/^\[(.*)\]$/, "$1"))
    ) {
      const warning = "credentials are sent without TLS: anyone on the network can read them";
      this.services.logger.warn({ url: this.url.href }, warning);
    }
    return found;
  }
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
