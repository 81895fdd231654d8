import { readFile } from "node:fs/promises";
import type { TlsClientOptions } from "#net";
import type { FetchedCredentials } from "#net/auth";
import { parseRetryAfter } from "#net/otlp";
import { type SmallAnswer, sendSmallRequest } from "#net/sending";
import { type Clock, Refusal } from "../../../plugin.js";
import type { OAuth2ClientConfig } from "./config.js";

/** The header that carries a token. */
export interface TokenHeaders {
  readonly [name: string]: string;
  readonly authorization: string;
}

interface ClientSecret {
  readonly id: string;
  readonly secret: string;
}

/** Where the endpoint expects the client's id and secret. */
type SecretPlace = "header" | "body";

/**
 * Requests tokens from a token endpoint with the client credentials grant (RFC 6749, section 4.4). Id and secret are
 * sent in the Authorization header. If an endpoint does not accept that, they are sent in the body from then on.
 */
export class TokenRequest {
  private readonly config: OAuth2ClientConfig;
  private readonly clock: Clock;
  private readonly tls: TlsClientOptions | undefined;
  private place: SecretPlace | undefined;

  constructor(config: OAuth2ClientConfig, clock: Clock, tls: TlsClientOptions | undefined) {
    this.config = config;
    this.clock = clock;
    this.tls = tls;
  }

  /**
   * Rejects with a `Refusal` that contains no secret. A permanent refusal of the endpoint holds the queue like a 401 of
   * the backend.
   */
  async send(): Promise<FetchedCredentials<TokenHeaders>> {
    const client = await this.readSecret();
    const places: readonly SecretPlace[] = this.place === undefined ? ["header", "body"] : [this.place];
    for (const place of places) {
      const answer = await this.ask(client, place);
      const isLast = place === places.at(-1);
      if (!isLast && (answer.status === 400 || answer.status === 401)) continue;
      const token = this.readAnswer(answer, client);
      this.place = place;
      return token;
    }
    throw new Error("unreachable");
  }

  /** Files are read each time, so that a secret can be changed while the agent runs. */
  private async readSecret(): Promise<ClientSecret> {
    const { client_id, client_id_file, client_secret, client_secret_file } = this.config;
    return {
      id: await textOf(client_id_file, client_id),
      secret: await textOf(client_secret_file, client_secret),
    };
  }

  private ask({ id, secret }: ClientSecret, place: SecretPlace): Promise<SmallAnswer> {
    const { token_url: url, scopes, endpoint_params, timeout: timeoutMs } = this.config;
    const form = new URLSearchParams({ grant_type: "client_credentials" });
    if (scopes.length > 0) form.set("scope", scopes.join(" "));
    for (const [name, values] of Object.entries(endpoint_params)) {
      form.delete(name);
      for (const value of values) form.append(name, value);
    }
    const headers: Record<string, string> = { "Content-Type": "application/x-www-form-urlencoded" };
    if (place === "header") headers["Authorization"] = basicHeader(id, secret);
    else {
      form.set("client_id", id);
      form.set("client_secret", secret);
    }
    const { clock, tls } = this;
    const body = form.toString();
    return sendSmallRequest({ method: "POST", url, headers, body, timeoutMs, clock, ...(tls && { tls }) });
  }

  private readAnswer(
    { status, headers, json }: SmallAnswer,
    { secret }: ClientSecret,
  ): FetchedCredentials<TokenHeaders> {
    const { token_url: url } = this.config;
    const endpoint = `the token endpoint ${url.origin}${url.pathname}`;
    if (status < 200 || status > 299) {
      const said = errorText(json, secret);
      const message = `${endpoint} answered HTTP ${status}${said === "" ? "" : `: ${said}`}`;
      const retryAfterMs = parseRetryAfter(headers.get("retry-after"), this.clock.now());
      throw refusalOfEndpoint(status, message, retryAfterMs);
    }
    const { access_token: token, token_type: type, expires_in: seconds } = json;
    if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token))
      throw new Refusal("transient", `${endpoint} answered without a token`, { blame: "backend" });
    const lifetime = Number(seconds);
    const value = { authorization: `${schemeOf(type)} ${token}` };
    return lifetime > 0 ? { value, lifetimeMs: lifetime * 1000 } : { value };
  }
}

async function textOf(file: string | undefined, text: string | undefined): Promise<string> {
  if (file === undefined) return text ?? "";
  const read = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new Refusal("transient", `cannot read ${file}: ${error.code}`, { blame: "backend", cause: error });
  });
  return read.trim();
}

/** Id and secret are form-encoded first (RFC 6749, section 2.3.1). */
function basicHeader(id: string, secret: string): string {
  const encode = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString("base64")}`;
}

/** The credentials or the address are wrong. A person must fix that, and until then the data waits. */
function refusalOfEndpoint(status: number, message: string, retryAfterMs: number | undefined): Refusal {
  if (status === 408 || status === 429 || status >= 500) {
    if (retryAfterMs === undefined) return new Refusal("transient", message, { blame: "backend" });
    return new Refusal("throttled", message, { blame: "backend", retryAfterMs });
  }
  return new Refusal("permanent", message, { status: "HTTP 401", category: "integration" });
}

const MAX_ERROR_TEXT = 200;

/**
 * Returns RFC 6749's error and description if they are texts. If the endpoint repeats the secret, its text is not used.
 */
function errorText({ error, error_description: description }: SmallAnswer["json"], secret: string): string {
  const said = [error, description].filter((text): text is string => typeof text === "string").join(", ");
  const printable = said.replace(/[^\x20-\x7e]/g, " ").slice(0, MAX_ERROR_TEXT);
  return secret === "" ? printable : printable.replaceAll(secret, "[REDACTED]");
}

/** Servers write the type in upper or lower case. Other types than these are sent unchanged, as Go's client does. */
function schemeOf(type: unknown): string {
  if (typeof type !== "string" || type === "" || /^bearer$/i.test(type)) return "Bearer";
  return /^[\w-]+$/.test(type) ? type : "Bearer";
}
