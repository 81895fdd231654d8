import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const at = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Paths of the certificates that make.sh made. */
export const TLS_FILES = {
  ca: at("ca.crt"),
  otherCa: at("other-ca.crt"),
  serverCert: at("server.crt"),
  serverKey: at("server.key"),
  serverExpiredCert: at("server-expired.crt"),
  rsaCert: at("rsa.crt"),
  rsaKey: at("rsa.key"),
  clientCert: at("client.crt"),
  clientKey: at("client.key"),
  clientExpiredCert: at("client-expired.crt"),
};

export const read = (path: string): Buffer => readFileSync(path);
