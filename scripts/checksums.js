/**
 * Signs release files: writes SHA256SUMS, with a line per file, and SHA256SUMS.sig, its Ed25519 signature, next to the
 * files.
 *
 *     node scripts/checksums.js sign KEY.pem FILE...
 *     node scripts/checksums.js verify PUBLIC.pem FOLDER
 *
 * KEY.pem is the private key (openssl genpkey -algorithm ed25519 -out KEY.pem), which only the maintainers have;
 * PUBLIC.pem is its public half (openssl pkey -in KEY.pem -pubout). SECURITY.md tells how to verify without this
 * script.
 */
import { createHash, createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import process from "node:process";

const [command, keyFile, ...rest] = process.argv.slice(2);
if (command === "sign" && keyFile !== undefined && rest.length > 0) signFiles(keyFile, rest);
else if (command === "verify" && keyFile !== undefined && rest.length === 1) verifyFolder(keyFile, rest[0]);
else fail("usage: checksums.js sign KEY.pem FILE... | verify PUBLIC.pem FOLDER");

/** @param {string} keyFile @param {string[]} files */
function signFiles(keyFile, files) {
  const folder = dirname(files[0]);
  if (files.some((file) => dirname(file) !== folder)) fail("the files must lie in one folder");
  const names = files.map((file) => basename(file)).sort();
  const sums = Buffer.from(names.map((name) => `${sha256(join(folder, name))}  ${name}\n`).join(""));
  writeFileSync(join(folder, "SHA256SUMS"), sums);
  writeFileSync(join(folder, "SHA256SUMS.sig"), sign(null, sums, createPrivateKey(readFileSync(keyFile))));
}

/** @param {string} keyFile @param {string} folder */
function verifyFolder(keyFile, folder) {
  const sums = readFileSync(join(folder, "SHA256SUMS"));
  const signature = readFileSync(join(folder, "SHA256SUMS.sig"));
  if (!verify(null, sums, createPublicKey(readFileSync(keyFile)), signature)) fail("SHA256SUMS is not what was signed");
  for (const line of sums.toString("utf8").trimEnd().split("\n")) {
    const name = line.slice(66);
    if (sha256(join(folder, name)) !== line.slice(0, 64)) fail(`${name} is not what was signed`);
    process.stdout.write(`${name}: OK\n`);
  }
}

/** @param {string} file */
function sha256(file) {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

/** @param {string} message */
function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
