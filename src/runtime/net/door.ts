/** Addresses, listening, TLS, HTTP clients and servers, proxies. */

export { clientOf, plainAddress } from "./client-address.js";
export { connectionErrorMessage, plainTlsMessage } from "./connection-error.js";
export { type ConnectionRefusal, connectionLimits } from "./connection-limits.js";
export {
  formatAddress,
  type HostPort,
  hostPort,
  httpUrl,
  isLoopbackHost,
  type ListenAddress,
  listenAddress,
  listenEndpoint,
  parseGrpcTarget,
  parseHostPort,
  protectionOf,
} from "./endpoint.js";
export { type HttpClientConfig, httpClientDefaults, httpClientKeys, httpHeaders } from "./http-client-keys.js";
export { addressOfUrl, openRequest, parseAnswer, readAnswer } from "./http-request.js";
export { type HttpServerPlace, type ListeningServer, startHttpServer } from "./http-server.js";
export { Http1Client } from "./http1/client.js";
export type { Http1Answer } from "./http1/connection.js";
export { type HttpTarget, hostHeaderName, httpTarget } from "./http1/http-target.js";
export { headerLines, isHeader, type RequestHead } from "./http1/request-writer.js";
export {
  HANDED_OVER,
  isPortInUse,
  type LeasedServer,
  leaseServer,
  portOf,
  removeStaleSocket,
  startUnlessPortTaken,
} from "./listen.js";
export { proxyFromEnvironment, proxyOfUrl, useProxyEnvironment } from "./proxy/proxy.js";
export { SharedSockets } from "./shared-sockets.js";
export { type SimpleHttpResponse, startSimpleHttpServer } from "./simple-http-server.js";
export { type TlsClientConfig, type TlsServerConfig, tlsClient, tlsServer } from "./tls-config.js";
export { loadClientTls, loadServerTls, reloadServerTls, renewClientTls, type TlsClientOptions } from "./tls-load.js";
export { type LeasedUdpSocket, leaseUdpSocket } from "./udp-socket.js";
export type { WebSocketConnection } from "./websocket/connection.js";
export { openWebSocket } from "./websocket/open-web-socket.js";
