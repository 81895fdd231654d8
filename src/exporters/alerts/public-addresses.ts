import { lookup } from "node:dns";
import { BlockList, isIP, isIPv6, type LookupFunction } from "node:net";

/**
 * Addresses outside the public internet: this machine, private and shared networks, link-local (cloud metadata),
 * multicast, reserved.
 */
const RANGES = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 ::/128 ::1/128
  64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8`;
const NOT_PUBLIC = new BlockList();
for (const range of RANGES.split(/\s+/)) {
  const [address, prefix] = range.split("/") as [string, string];
  NOT_PUBLIC.addSubnet(address, Number(prefix), isIPv6(address) ? "ipv6" : "ipv4");
}

function isPublicAddress(address: string): boolean {
  return !NOT_PUBLIC.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/**
 * Returns false for addresses, and names of this machine, that are not part of the public internet. Other names count
 * as public until they are resolved.
 */
export function isPublicHost(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  if (isIP(bare)) return isPublicAddress(bare);
  return bare !== "localhost" && !bare.endsWith(".localhost");
}

/**
 * Resolves a name and returns only addresses of the public internet, so that a DNS answer cannot lead requests into the
 * agent's own network. It runs for every connection, so an answer that changes later does not help an attacker.
 */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error) return callback(error, "", 0);
    const allowed = found.filter(({ address }) => isPublicAddress(address));
    const [first] = allowed;
    if (first === undefined) return callback(notPublic(hostname, found[0]?.address), "", 0);
    if (options.all) callback(null, allowed);
    else callback(null, first.address, first.family);
  });
};

function notPublic(hostname: string, address = "no address"): NodeJS.ErrnoException {
  const message = `${hostname} resolves to ${address}, which is not a public address; set allow_private_addresses to permit it`;
  return Object.assign(new Error(message), { code: "ERR_NOT_PUBLIC" });
}
