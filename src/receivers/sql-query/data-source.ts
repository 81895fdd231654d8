/** A database as its address names it, for any driver. */
export interface DataSource {
  readonly driver: "mysql" | "postgres";
  /** The folder or path of a socket if it begins with a slash. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly username: string;
  readonly password: string;
  readonly params: ReadonlyMap<string, string>;
}

interface SourceKeys {
  readonly driver: string;
  readonly datasource?: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly username: string;
  readonly password?: string | undefined;
  readonly additional_params: Readonly<Record<string, string | number | boolean>>;
}

const MYSQL_PORT = 3306;
const POSTGRES_PORT = 5432;

/** Throws an error with the reason, which never contains the password, for what is no address. */
export function dataSourceOf(config: SourceKeys): DataSource {
  const { driver, datasource, host, port, database, username, password = "" } = config;
  const isMysql = driver === "mysql";
  const found = datasource
    ? (isMysql ? parseMysql : parsePostgres)(datasource)
    : { host, port, database, username, password, params: paramsOf(config.additional_params) };
  for (const [name, value] of found.params) checkParam(isMysql, name, value);
  return { driver: isMysql ? "mysql" : "postgres", ...found };
}

function paramsOf(values: SourceKeys["additional_params"]): Map<string, string> {
  return new Map(Object.entries(values).map(([name, value]) => [name, String(value)]));
}

function checkParam(isMysql: boolean, name: string, value: string): void {
  if (isMysql) {
    if (name === "tls" && !/^(true|false|1|0|skip-verify|preferred)$/i.test(value))
      throw new Error("expected tls to be true, false, skip-verify or preferred");
    if (name === "loc" && value !== "UTC")
      throw new Error("expected loc to be UTC; convert other times in the statement");
    if (!/^\w+$/.test(name)) throw new Error("expected parameters with simple names");
  } else if (name === "sslmode" && !/^(disable|require|verify-ca|verify-full)$/.test(value))
    throw new Error("expected sslmode to be disable, require, verify-ca or verify-full");
}

type FoundSource = Omit<DataSource, "driver">;

/** `user:password@tcp(host:port)/database?name=value`, as Go's driver takes it. */
function parseMysql(text: string): FoundSource {
  const slash = text.lastIndexOf("/");
  if (slash < 0) throw new Error("expected user:password@tcp(host:port)/database");
  const [head, tail] = [text.slice(0, slash), text.slice(slash + 1)];
  const at = head.lastIndexOf("@");
  const [, username = "", password = ""] = at < 0 ? [] : (/^([^:]*)(?::(.*))?$/s.exec(head.slice(0, at)) ?? []);
  const [, network = "tcp", address = ""] = /^(\w*)(?:\((.*)\))?$/s.exec(head.slice(at + 1)) ?? [];
  if (!/^\w*(\(.*\))?$/s.test(head.slice(at + 1)) || !/^(|tcp|tcp4|tcp6|unix)$/.test(network))
    throw new Error("expected the address as tcp(host:port) or unix(/path)");
  const question = tail.indexOf("?");
  const database = question < 0 ? tail : tail.slice(0, question);
  const params = new Map(question < 0 ? [] : new URLSearchParams(tail.slice(question + 1)));
  const place = network === "unix" ? { host: address || "/tmp/mysql.sock", port: 0 } : hostAndPort(address, MYSQL_PORT);
  return { ...place, database: decoded(database), username, password, params };
}

function hostAndPort(address: string, port: number): { readonly host: string; readonly port: number } {
  const [, host = "", given] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(address) ?? [];
  return { host: host.replace(/^\[(.*)\]$/, "$1") || "127.0.0.1", port: given === undefined ? port : Number(given) };
}

/** `host=… user=…`, or a URL. */
function parsePostgres(text: string): FoundSource {
  const values = /^postgres(ql)?:\/\//.test(text) ? urlValues(text) : keyValues(text);
  const take = (name: string, fallback: string) => {
    const value = values.get(name);
    values.delete(name);
    return value === undefined || value === "" ? fallback : value;
  };
  const username = take("user", "");
  const port = take("port", String(POSTGRES_PORT));
  if (!/^\d{1,5}$/.test(port)) throw new Error("expected port to be a number");
  return {
    host: take("host", "localhost"),
    port: Number(port),
    database: take("dbname", username || "postgres"),
    username: username || "postgres",
    password: take("password", ""),
    params: values,
  };
}

function urlValues(text: string): Map<string, string> {
  if (!URL.canParse(text)) throw new Error("expected a URL such as postgres://user:password@host:5432/database");
  const url = new URL(text);
  const values = new Map([
    ["host", decoded(url.hostname).replace(/^\[(.*)\]$/, "$1")],
    ["port", url.port],
    ["user", decoded(url.username)],
    ["password", decoded(url.password)],
    ["dbname", decoded(url.pathname.slice(1))],
  ]);
  for (const [name, value] of url.searchParams) values.set(name, value);
  return values;
}

/** Values with spaces are in single quotes; a backslash stands before a quote or another backslash. */
function keyValues(text: string): Map<string, string> {
  const values = new Map<string, string>();
  // Linear: it starts once, and no two of its parts take the same character.
  const pair = /\s*([\w.]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?=\s|$)/sy;
  let end = 0;
  for (let match = pair.exec(text); match !== null; match = pair.exec(text)) {
    values.set(match[1]!, (match[2] ?? match[3]!).replace(/\\(.)/gs, "$1"));
    end = pair.lastIndex;
  }
  if (text.slice(end).trim() !== "") throw new Error("expected host=… port=… user=… dbname=…");
  return values;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error("expected % only as part of an escaped character");
  }
}
