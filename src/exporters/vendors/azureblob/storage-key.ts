import { createHmac } from "node:crypto";

/** The content of a connection string: the address of the blobs, and the credentials to write them. */
export interface StorageConnection {
  readonly url: string;
  readonly key?: StorageKey;
  /** A shared access signature: parameters of the query. */
  readonly signature?: string;
}

interface StorageKey {
  readonly account: string;
  readonly key: Buffer;
}

const EMULATOR =
  "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;" +
  "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/** Returns undefined if the text names no account, or nothing that allows to write. */
export function parseStorageConnection(text: string): StorageConnection | undefined {
  const parts = new Map(
    text.split(";").flatMap((part) => {
      const [, name, value = ""] = /^\s*(\w+)=(.*)$/s.exec(part) ?? [];
      return name === undefined ? [] : [[name.toLowerCase(), value.trim()] as const];
    }),
  );
  if (parts.get("usedevelopmentstorage") === "true") return parseStorageConnection(EMULATOR);
  const account = parts.get("accountname") ?? "";
  const protocol = parts.get("defaultendpointsprotocol") ?? "https";
  const usual = account && `${protocol}://${account}.blob.${parts.get("endpointsuffix") ?? "core.windows.net"}`;
  const url = parts.get("blobendpoint") ?? usual;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) return undefined;
  const [key, signature] = [parts.get("accountkey"), parts.get("sharedaccesssignature")];
  if (key && account) return { url, key: { account, key: Buffer.from(key, "base64") } };
  return signature ? { url, signature: signature.replace(/^\?/, "") } : undefined;
}

/** The headers that a signature covers, in its order. */
const SIGNED_HEADERS = [
  "content-encoding",
  "content-language",
  "content-length",
  "content-md5",
  "content-type",
  "date",
  "if-modified-since",
  "if-match",
  "if-none-match",
  "if-unmodified-since",
  "range",
];

/** Returns the header Authorization of a PUT, by the published rules of Shared Key. `headers` have lower-case names. */
export function sharedKeyOf(
  { account, key }: StorageKey,
  url: URL,
  headers: Readonly<Record<string, string>>,
  length: number,
): string {
  const known: Readonly<Record<string, string>> = { ...headers, "content-length": length === 0 ? "" : String(length) };
  const own = Object.keys(headers)
    .filter((name) => name.startsWith("x-ms-"))
    .sort();
  const query = [...url.searchParams].map(([name, value]) => `\n${name.toLowerCase()}:${value}`).sort();
  const text = [
    "PUT",
    ...SIGNED_HEADERS.map((name) => known[name] ?? ""),
    ...own.map((name) => `${name}:${headers[name]!}`),
    `/${account}${url.pathname}${query.join("")}`,
  ].join("\n");
  return `SharedKey ${account}:${createHmac("sha256", key).update(text, "utf8").digest("base64")}`;
}
