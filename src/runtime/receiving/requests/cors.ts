import type { IncomingMessage } from "node:http";
import { glob } from "#contract/schema";
import type { HttpServerConfig } from "./server-keys.js";

type CorsConfig = NonNullable<HttpServerConfig["cors"]>;

/**
 * CORS headers for browsers. Without allowed origins there are none, and a preflight request is just a wrong method.
 */
export class Cors {
  /** Matchers such as `https://*.example.com`: a star stands for any characters. */
  private readonly origins: readonly ((origin: string) => boolean)[];
  private readonly headers: string;
  private readonly exposed: string;
  private readonly maxAge: number;

  private constructor(config: CorsConfig) {
    this.origins = (config.allowed_origins ?? []).map((origin) => glob(origin.toLowerCase()));
    this.headers = ["Content-Type", "Accept", "X-Requested-With", ...(config.allowed_headers ?? [])].join(", ");
    this.exposed = (config.exposed_headers ?? []).join(", ");
    this.maxAge = config.max_age;
  }

  static of(config: CorsConfig | undefined): Cors | undefined {
    return config?.allowed_origins?.length ? new Cors(config) : undefined;
  }

  /**
   * Headers that let the page read the response, as alternating names and values; empty if the origin is not allowed.
   */
  answerHeaders(request: IncomingMessage): string[] {
    const { origin } = request.headers;
    if (origin === undefined || !this.allows(origin)) return ["Vary", "Origin"];
    const headers = [
      "Access-Control-Allow-Origin",
      origin,
      "Access-Control-Allow-Credentials",
      "true",
      "Vary",
      "Origin",
    ];
    if (this.exposed !== "") headers.push("Access-Control-Expose-Headers", this.exposed);
    return headers;
  }

  /** The same for a preflight request. */
  preflightHeaders(request: IncomingMessage): string[] {
    const headers = this.answerHeaders(request);
    if (headers.length === 2) return headers;
    const asked = request.headers["access-control-request-headers"];
    const allowed = this.headers.includes("*") && asked ? asked : this.headers;
    headers.push("Access-Control-Allow-Methods", "POST", "Access-Control-Allow-Headers", allowed);
    if (this.maxAge > 0) headers.push("Access-Control-Max-Age", String(this.maxAge));
    return headers;
  }

  private allows(origin: string): boolean {
    const lower = origin.toLowerCase();
    return this.origins.some((matches) => matches(lower));
  }
}
