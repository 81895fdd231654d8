/** The URL behind an id of Elastic Cloud: `name:` and, in base64, `host[:port]$elasticsearch[:port]$...`. Undefined for any other text. */
export function parseCloudId(id: string): URL | undefined {
  const [host = "", own = ""] = Buffer.from(id.slice(id.lastIndexOf(":") + 1), "base64")
    .toString("utf8")
    .split("$");
  const [domain = "", domainPort] = host.split(":");
  const [name = "", ownPort] = own.split(":");
  const text = `https://${name}.${domain}:${ownPort ?? domainPort ?? "443"}`;
  const isHost = /^[\w.-]+$/.test(name) && /^[\w.-]+$/.test(domain);
  return isHost && URL.canParse(text) ? new URL(text) : undefined;
}
