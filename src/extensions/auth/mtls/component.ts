import type { PeerCertificate } from "node:tls";
import type { AuthenticatedClient, ServerAuthenticator, ServerAuthRequest } from "#contract";
import { type BuiltInExtension, defineBuiltInExtension } from "#contract/built-in";
import { glob } from "#contract/schema";
import { CredentialGate } from "#net/auth";
import type { ComponentContext } from "../../../plugin.js";
import { type MtlsAuthConfig, mtlsAuthSchema, type Rule } from "./config.js";

/**
 * Authenticates clients by the names in their certificates. `tls.client_ca_file` decides which certificates TLS trusts.
 */
export const mtlsAuth = defineBuiltInExtension<MtlsAuthConfig>({
  type: "mtlsauth",
  aliases: ["mtls_auth"],
  summary: "Authenticates clients by the subject and names of their TLS certificates.",
  runsIn: "both",
  schema: mtlsAuthSchema,
  authenticates: () => ["server"],
  create: (config, context) => new MtlsAuth(config, context),
});

class MtlsAuth implements BuiltInExtension, ServerAuthenticator {
  readonly challenge = 'Certificate realm="sluice"';
  readonly serverAuthenticator = this;
  private readonly id: string;
  private readonly rules: readonly { matches: (names: Names) => boolean; tenant: string | undefined }[];
  private readonly gate: CredentialGate;
  private readonly clients = new WeakMap<PeerCertificate, AuthenticatedClient>();

  constructor({ allowed }: MtlsAuthConfig, context: ComponentContext) {
    this.id = context.id;
    this.rules = allowed.map((each) => ({ matches: matcherOf(each), tenant: each.tenant }));
    this.gate = new CredentialGate(context);
  }

  async start(): Promise<void> {}
  async stop(): Promise<void> {}

  authenticate(request: ServerAuthRequest): AuthenticatedClient {
    const certificate = request.peerCertificate();
    if (certificate === undefined) throw this.gate.missing(request, "a client certificate is required");
    const known = this.clients.get(certificate);
    if (known !== undefined) return known;
    const client = this.clientOf(certificate);
    if (client === undefined) throw this.gate.invalid(request, "this certificate is not accepted");
    this.clients.set(certificate, client);
    return client;
  }

  private clientOf(certificate: PeerCertificate): AuthenticatedClient | undefined {
    const names = namesOf(certificate);
    const found = this.rules.find(({ matches }) => matches(names));
    const subject = [...names.common_name, ...names.uri, ...names.dns_name, ...names.email][0];
    if (found === undefined || subject === undefined) return undefined;
    const attributes = { ...names, fingerprint: certificate.fingerprint256 };
    return { authenticator: this.id, subject, ...(found.tenant !== undefined && { tenant: found.tenant }), attributes };
  }
}

type NameKind = Exclude<keyof Rule, "tenant">;
type Names = Readonly<Record<NameKind, readonly string[]>>;

/** Parts of the subject. A certificate should have each of them once; if it has several, all must match. */
const SUBJECT_PARTS: readonly NameKind[] = ["common_name", "organization", "organizational_unit"];

function matcherOf({ tenant: _, ...patterns }: Rule): (names: Names) => boolean {
  const tests = (Object.entries(patterns) as [NameKind, string | undefined][]).flatMap(([kind, text]) =>
    text === undefined ? [] : [{ kind, matches: glob(text) }],
  );
  return (names) =>
    tests.every(({ kind, matches }) => {
      const values = names[kind];
      return SUBJECT_PARTS.includes(kind) ? values.length > 0 && values.every(matches) : values.some(matches);
    });
}

function namesOf({ subject, subjectaltname = "" }: PeerCertificate): Names {
  const { CN, O, OU } = subject as unknown as Record<string, string | string[] | undefined>;
  const alternatives = parseAlternativeNames(subjectaltname);
  const named = (kind: string) => alternatives.flatMap(([type, value]) => (type === kind ? [value] : []));
  return {
    common_name: [CN ?? []].flat(),
    organization: [O ?? []].flat(),
    organizational_unit: [OU ?? []].flat(),
    dns_name: named("DNS"),
    uri: named("URI"),
    email: named("email"),
  };
}

/**
 * Parses Node.js's format `DNS:a.example, URI:spiffe://b`. A value with a comma or a quote, which could pretend to be
 * several values, is written as JSON text.
 */
function parseAlternativeNames(text: string): [type: string, value: string][] {
  const found: [string, string][] = [];
  // Linear: a value that is not matched ends before the next comma.
  for (const [, type, quoted, plain] of text.matchAll(/([A-Za-z ]{1,40}):(?:("(?:[^"\\]|\\.)*")|([^,]*))(?:, |$)/g)) {
    found.push([type!, quoted === undefined ? plain! : (JSON.parse(quoted) as string)]);
  }
  return found;
}
