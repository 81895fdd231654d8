/** An address in its usual form: an IPv4 client of a dual-stack socket is shown as IPv4. */
export function plainAddress(address: string | undefined): string | undefined {
  return address?.replace(/^::ffff:(?=\d+\.)/, "");
}

/**
 * Identifies the client behind an address: for IPv6 the first 64 bits, because a client usually has the whole prefix.
 */
export function clientOf(address: string | undefined): string | undefined {
  if (address === undefined || !address.includes(":") || address.includes(".")) return address;
  const [head = "", tail] = address.split("::", 2);
  const groups = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  if (tail !== undefined) while (groups.length + last.length < 8) groups.push("0");
  return [...groups, ...last].slice(0, 4).join(":");
}
