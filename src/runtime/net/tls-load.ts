import { readFile } from "node:fs/promises";
import process from "node:process";
import type { SecureContextOptions, SecureVersion, Server } from "node:tls";
import type { Clock, Logger } from "#contract";
import { StartError } from "#contract/errors";
import type { TlsClientConfig, TlsServerConfig, TlsVersion } from "./tls-config.js";

/** Node.js options of a TLS server. */
interface TlsServerOptions extends SecureContextOptions {
  readonly requestCert: boolean;
  readonly rejectUnauthorized: boolean;
}

/** Node.js options of a TLS client. */
export interface TlsClientOptions extends SecureContextOptions {
  readonly rejectUnauthorized: boolean;
  readonly servername?: string;
}

/** Loads the TLS options of a server. Throws a `StartError` that names the faulty key below `path`. */
export async function loadServerTls(config: TlsServerConfig, path: readonly string[]): Promise<TlsServerOptions> {
  const clientCa = await readPem(config.client_ca_file, undefined, [...path, "client_ca_file"]);
  const options = { ciphers: forwardSecretCiphers(), ...(await loadSecureContext(config, path, clientCa)) };
  if (options.cert === undefined || options.key === undefined) {
    throw new StartError("TLS needs both cert_file and key_file", path);
  }
  return { ...options, requestCert: clientCa !== undefined, rejectUnauthorized: clientCa !== undefined };
}

/**
 * Node's cipher suites without those that exchange keys by RSA alone: someone who gets the server's key later could
 * decrypt recorded traffic.
 */
function forwardSecretCiphers(): string {
  return `${process.getBuiltinModule("node:tls").DEFAULT_CIPHERS}:!kRSA`;
}

/** Loads the TLS options of a client. Throws a `StartError` that names the faulty key below `path`. */
export async function loadClientTls(config: TlsClientConfig, path: readonly string[]): Promise<TlsClientOptions> {
  const options = await loadSecureContext(config, path, undefined);
  if ((options.cert === undefined) !== (options.key === undefined)) {
    throw new StartError("a client certificate needs both cert_file and key_file", path);
  }
  const servername = config.server_name_override;
  return { ...options, rejectUnauthorized: !config.insecure_skip_verify, ...(servername && { servername }) };
}

/**
 * Reloads the files into options that a client library keeps, for its next connection: renewed certificates need no
 * restart. Unusable files leave the old options. Never rejects.
 */
export async function renewClientTls(options: TlsClientOptions, config: TlsClientConfig): Promise<void> {
  try {
    Object.assign(options, await loadClientTls(config, []));
  } catch {
    // The files may be half written: the next failed connection tries again.
  }
}

async function loadSecureContext(
  config: TlsServerConfig | TlsClientConfig,
  path: readonly string[],
  clientCa: string | undefined,
): Promise<SecureContextOptions> {
  const { createSecureContext, rootCertificates } = process.getBuiltinModule("node:tls");
  const ca = clientCa ?? (await readPem(config.ca_file, config.ca_pem, [...path, "ca_file"]));
  const cert = await readPem(config.cert_file, config.cert_pem, [...path, "cert_file"]);
  const key = await readPem(config.key_file, config.key_pem, [...path, "key_file"]);
  const options: SecureContextOptions = {
    minVersion: secureVersion(config.min_version),
    maxVersion: secureVersion(config.max_version),
    ...(ca !== undefined && { ca: config.include_system_ca_certs_pool ? [ca, ...rootCertificates] : ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(config.cipher_suites && { ciphers: config.cipher_suites.map(opensslName).join(":") }),
    ...(config.curve_preferences && { ecdhCurve: config.curve_preferences.map(curveName).join(":") }),
  };
  try {
    createSecureContext(options);
  } catch (error) {
    throw new StartError(`TLS settings do not work: ${(error as Error).message}`, path, { cause: error });
  }
  return options;
}

async function readPem(file: string | undefined, text: string | undefined, path: readonly string[]) {
  if (!file) return text;
  const read = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new StartError(`cannot read ${file}: ${error.code}`, path, { cause: error });
  });
  // OpenSSL treats an empty file as no CA, and then rejects every client. A file that is being written may be empty.
  if (read.trim() === "") throw new StartError(`${file} is empty`, path);
  return read;
}

function secureVersion(version: TlsVersion): SecureVersion {
  return version === "1.0" ? "TLSv1" : `TLSv${version}`;
}

/**
 * Converts the Collector's names to OpenSSL's: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 becomes
 * ECDHE-RSA-AES128-GCM-SHA256.
 */
function opensslName(suite: string): string {
  if (!suite.includes("_WITH_")) return suite;
  return suite
    .replace(/^TLS_/, "")
    .replace("RSA_WITH_", suite.startsWith("TLS_RSA_WITH_") ? "" : "RSA_")
    .replace("_WITH_", "_")
    .replace(/AES_(\d+)/, "AES$1")
    .replace(/CHACHA20_POLY1305_SHA256/, "CHACHA20_POLY1305")
    .replaceAll("_", "-");
}

function curveName(curve: string): string {
  return curve.replace(/^P(256|384|521)$/, "P-$1");
}

/**
 * Reloads the server's certificates every `reload_interval`, for new connections. Unusable files leave the old
 * certificates in place. Returns a function that stops it.
 */
export function reloadServerTls(server: Server, config: TlsServerConfig, clock: Clock, logger: Logger): () => void {
  const every = config.reload_interval;
  if (!every) return () => {};
  let cancel = () => {};
  let stopped = false;
  const scheduleReload = () => {
    if (!stopped) cancel = clock.after(every, () => void reload().then(scheduleReload));
  };
  const reload = async () => {
    try {
      const { requestCert: _, rejectUnauthorized: __, ...context } = await loadServerTls(config, []);
      server.setSecureContext(context);
    } catch (error) {
      logger.warn({ error: (error as Error).message }, "certificates could not be reloaded; the old ones stay in use");
    }
  };
  scheduleReload();
  return () => {
    stopped = true;
    cancel();
  };
}
