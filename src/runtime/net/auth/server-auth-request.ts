import type { IncomingMessage } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { PeerCertificate, TLSSocket } from "node:tls";
import { AuthError, type ServerAuthRequest } from "#contract";
import { plainAddress } from "../client-address.js";

/** The head of an HTTP request for authenticators. */
export function httpAuthRequest(request: IncomingMessage): ServerAuthRequest {
  return new AuthRequestHead(request.rawHeaders, request.socket);
}

/** The head of an HTTP/2 request for authenticators; `rawHeaders` alternate between names and values. */
export function http2AuthRequest(stream: ServerHttp2Stream, rawHeaders: readonly string[]): ServerAuthRequest {
  return new AuthRequestHead(rawHeaders, stream.session?.socket as Socket | undefined);
}

class AuthRequestHead implements ServerAuthRequest {
  readonly connection: object;
  private readonly rawHeaders: readonly string[];
  private readonly socket: Socket | undefined;

  constructor(rawHeaders: readonly string[], socket: Socket | undefined) {
    this.rawHeaders = rawHeaders;
    this.socket = socket;
    this.connection = socket ?? this;
  }

  get remoteAddress(): string | undefined {
    return plainAddress(this.socket?.remoteAddress);
  }

  /**
   * Reads `rawHeaders`, because Node.js silently drops a second Authorization header, which a proxy may have checked.
   */
  header(name: string): string | undefined {
    const { rawHeaders } = this;
    let found: string | undefined;
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const written = rawHeaders[i]!;
      if (written.length !== name.length || written.toLowerCase() !== name) continue;
      if (found !== undefined) throw new AuthError("unauthenticated", `the header ${name} was sent more than once`);
      found = rawHeaders[i + 1]!;
    }
    return found;
  }

  peerCertificate(): PeerCertificate | undefined {
    const socket = this.socket as TLSSocket | undefined;
    if (socket?.authorized !== true) return undefined;
    let certificate = CERTIFICATES.get(socket);
    if (certificate === undefined) CERTIFICATES.set(socket, (certificate = socket.getPeerCertificate()));
    return certificate.raw === undefined ? undefined : certificate;
  }
}

/** Caches certificates: parsing one is expensive, and it is the same for all requests of a connection. */
const CERTIFICATES = new WeakMap<TLSSocket, PeerCertificate>();
