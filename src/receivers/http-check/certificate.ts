import type { X509Certificate } from "node:crypto";

/** The order in which Go writes the parts of a distinguished name. */
const NAME_PARTS = ["SERIALNUMBER", "CN", "POSTALCODE", "STREET", "ST", "L", "OU", "O", "C"];
/** The order in which the Collector lists alternative names. */
const ALTERNATIVES = ["IP Address", "URI", "DNS", "email"];

/** The attributes that describe a server's certificate. */
export function certificateAttributes({ issuer, subject, subjectAltName }: X509Certificate) {
  return {
    "http.tls.issuer": distinguishedName(issuer),
    "http.tls.cn":
      linesOf(subject)
        .find((line) => line.startsWith("CN="))
        ?.slice(3) ?? "",
    "http.tls.san": alternativeNames(subjectAltName ?? ""),
  };
}

export function secondsLeft({ validTo }: X509Certificate, nowMs: number): number {
  return Math.trunc((Date.parse(validTo) - nowMs) / 1000);
}

/** Node.js writes one part per line; the Collector writes them all in one, such as CN=shop,O=Shop,C=DE. */
function distinguishedName(lines: string): string {
  const parts = new Map<string, string[]>();
  for (const line of linesOf(lines)) {
    const type = line.slice(0, line.indexOf("="));
    parts.set(type, [...(parts.get(type) ?? []), line]);
  }
  const rank = (type: string) => (NAME_PARTS.includes(type) ? NAME_PARTS.indexOf(type) : NAME_PARTS.length);
  const sorted = [...parts].sort(([one], [other]) => rank(one) - rank(other));
  return sorted.map(([, same]) => same.join("+")).join(",");
}

/** Parses `DNS:a, IP Address:127.0.0.1`. Node.js writes a name that contains a comma as a JSON string. */
function alternativeNames(written: string): string[] {
  // Linear: what follows a name is always matched, so it is read twice at most.
  const found = [...written.matchAll(/(IP Address|URI|DNS|email):("(?:\\.|[^"\\])*"|[^,]*)/g)];
  const ranked = found.sort(([, one = ""], [, other = ""]) => ALTERNATIVES.indexOf(one) - ALTERNATIVES.indexOf(other));
  return ranked.map(([, , name = ""]) => unquoted(name));
}

/** A name that only looks like a JSON string stays as it is. */
function unquoted(name: string): string {
  if (!name.startsWith('"')) return name;
  try {
    return JSON.parse(name) as string;
  } catch {
    return name;
  }
}

/** An empty name has no lines. */
function linesOf(text: string | undefined): string[] {
  return (text ?? "").split("\n").filter((line) => line !== "");
}
