/** Where a server listens. An empty host means every interface. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** `127.0.0.1:4318`, `localhost:4318`, `[::]:4318`, `:4318`; undefined when the text is none of these. */
export function parseEndpoint(text: string): Endpoint | undefined {
  const match = /^(\[[0-9a-f:.%\w]+\]|[^:[\]/\s]*):(\d{1,5})$/i.exec(text.trim());
  const port = Number(match?.[2]);
  if (!match || port > 65535) return undefined;
  return { host: match[1]!.replace(/^\[|\]$/g, ""), port };
}

/** The same text that `parseEndpoint` reads. */
export function formatEndpoint({ host, port }: Endpoint): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
