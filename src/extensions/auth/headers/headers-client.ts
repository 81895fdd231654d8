import type { AuthHeaders, ClientAuthenticator, ClientAuthRequest } from "#contract";
import { isHeader } from "#net";
import { Refusal } from "../../../plugin.js";

/** The action for one header, by its lower-case name. */
export type HeaderRule =
  | { readonly action: "delete"; readonly name: string }
  | { readonly action: SetAction; readonly name: string; readonly value: string }
  | {
      readonly action: SetAction;
      readonly name: string;
      readonly metadataKey: string;
      readonly fallback: string | undefined;
    };

type SetAction = "insert" | "update" | "upsert";

/** Applies rules to the headers of every request. Headers of another authenticator are added on top. */
export class HeadersClient implements ClientAuthenticator {
  readonly metadataKeys: readonly string[];
  readonly isConfidential: boolean;
  readonly isHttpOnly: boolean;
  private readonly rules: readonly HeaderRule[];
  private readonly other: ClientAuthenticator | undefined;
  /** The headers of the other authenticator, by the headers made of them. */
  private readonly inner = new WeakMap<AuthHeaders, AuthHeaders>();

  constructor(rules: readonly HeaderRule[], other: ClientAuthenticator | undefined) {
    this.rules = rules;
    this.other = other;
    const own = rules.flatMap((rule) => ("metadataKey" in rule ? [rule.metadataKey] : []));
    this.metadataKeys = [...new Set([...own, ...(other?.metadataKeys ?? [])])].sort();
    this.isConfidential = other?.isConfidential ?? false;
    this.isHttpOnly = other?.isHttpOnly ?? false;
  }

  authorize(request: ClientAuthRequest): AuthHeaders | Promise<AuthHeaders> {
    const own = this.apply(request);
    if (this.other === undefined) return own;
    const given = this.other.authorize(new RequestWithHeaders(request, own));
    return given instanceof Promise ? given.then((headers) => this.join(own, headers)) : this.join(own, given);
  }

  refused(headers: AuthHeaders): void {
    const given = this.inner.get(headers);
    if (given !== undefined) this.other?.refused?.(given);
  }

  private join(own: AuthHeaders, given: AuthHeaders): AuthHeaders {
    const joined = { ...own, ...given };
    this.inner.set(joined, given);
    return joined;
  }

  private apply({ headers, metadata }: ClientAuthRequest): AuthHeaders {
    const changed: Record<string, string | undefined> = {};
    for (const rule of this.rules) {
      const { action, name } = rule;
      if (action === "delete") {
        changed[name] = undefined;
        continue;
      }
      const present = Object.hasOwn(changed, name) ? changed[name] !== undefined : Object.hasOwn(headers, name);
      if ((action === "insert" && present) || (action === "update" && !present)) continue;
      const value = "value" in rule ? rule.value : valueIn(metadata, rule.metadataKey, rule.fallback);
      if (value !== undefined) changed[name] = value;
    }
    return changed;
  }
}

/** The request as the other authenticator sees it: with the headers that were set. */
class RequestWithHeaders implements ClientAuthRequest {
  readonly headers: Readonly<Record<string, string>>;
  private readonly request: ClientAuthRequest;

  constructor(request: ClientAuthRequest, changed: AuthHeaders) {
    this.request = request;
    const all = Object.entries({ ...request.headers, ...changed });
    this.headers = Object.fromEntries(all.filter((each): each is [string, string] => each[1] !== undefined));
  }

  get method(): string {
    return this.request.method;
  }

  get url(): URL {
    return this.request.url;
  }

  get body(): Uint8Array {
    return this.request.body;
  }

  get metadata(): NonNullable<ClientAuthRequest["metadata"]> {
    return this.request.metadata ?? new Map();
  }
}

/** A value that occurs twice does not identify the client. As in the Collector, neither is chosen. */
function valueIn(
  metadata: ClientAuthRequest["metadata"],
  key: string,
  fallback: string | undefined,
): string | undefined {
  const values = metadata?.get(key) ?? [];
  if (values.length > 1) throw badMetadata(key, `has ${values.length} values; expected one`);
  const value = values[0] || fallback || undefined;
  if (value !== undefined && !isHeader("x", value)) throw badMetadata(key, "cannot be sent in a header");
  return value;
}

/** A retry would give the same result, so the entry becomes a dead letter. */
function badMetadata(key: string, why: string): Refusal {
  return new Refusal("permanent", `the client metadata ${JSON.stringify(key)} ${why}`, { category: "integration" });
}
