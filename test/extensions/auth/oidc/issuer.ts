import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface KeyPair {
  readonly id: string;
  /** More members of the published key. */
  readonly more?: object;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** To find primes takes a tenth of a second and more, so the pairs of a length are made once: the usual one, and another. */
const pairs = new Map<string, Pick<KeyPair, "publicKey" | "privateKey">>();

function rsaPair(name: string, modulusLength: number) {
  const pair = pairs.get(name) ?? generateKeyPairSync("rsa", { modulusLength });
  pairs.set(name, pair);
  return pair;
}

export const rsa = (id: string): KeyPair => ({ id, ...rsaPair("usual", 2048) });
export const otherRsa = (id: string): KeyPair => ({ id, ...rsaPair("other", 2048) });
export const weakRsa = (id: string): KeyPair => ({ id, ...rsaPair("weak", 1024) });
export const ec = (id: string, namedCurve = "P-256"): KeyPair => ({ id, ...generateKeyPairSync("ec", { namedCurve }) });
export const ed25519 = (id: string): KeyPair => ({ id, ...generateKeyPairSync("ed25519") });

/** An issuer on this machine: its documents, and how often its keys were fetched. */
export async function startIssuer(...keys: KeyPair[]) {
  const state = { keys, down: false, fetches: 0, url: "", discovery: {} as object };
  const server = createServer((request, response) => {
    if (state.down) return void response.writeHead(500).end();
    const isDiscovery = request.url === "/.well-known/openid-configuration";
    if (!isDiscovery) state.fetches += 1;
    const body = isDiscovery
      ? { issuer: state.url, jwks_uri: `${state.url}/keys`, ...state.discovery }
      : {
          keys: state.keys.map(({ id, publicKey, more }) => ({
            ...publicKey.export({ format: "jwk" }),
            kid: id,
            ...more,
          })),
        };
    response.end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => void server.close());
  return state;
}

const DIGESTS: Readonly<Record<string, string>> = { "256": "sha256", "384": "sha384", "512": "sha512" };

export function token(
  key: Pick<KeyPair, "id" | "privateKey">,
  claims: object,
  algorithm = "RS256",
  header: object = {},
): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: algorithm, kid: key.id, ...header })}.${part(claims)}`;
  const digest = DIGESTS[algorithm.slice(2)] ?? null;
  const options = algorithm.startsWith("PS")
    ? { padding: 6, saltLength: -1 }
    : algorithm.startsWith("ES")
      ? { dsaEncoding: "ieee-p1363" as const }
      : {};
  const signature = sign(digest, Buffer.from(signed), { key: key.privateKey, ...options });
  return `${signed}.${signature.toString("base64url")}`;
}
