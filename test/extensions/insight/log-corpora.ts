/**
 * Three corpora of log lines in the style of public ones. Each template says what a person would call the pattern: `{x}`
 * is a part that varies, and stands for a value of the list or the generator of that name.
 */

type Random = () => number;
type Values = Readonly<Record<string, readonly string[] | ((random: Random) => string)>>;

export interface Corpus {
  readonly name: string;
  readonly templates: readonly string[];
  readonly values: Values;
}

export interface CorpusLine {
  readonly text: string;
  /** The first line of the template with `<*>` for what varies. */
  readonly pattern: string;
}

const int = (max: number) => (random: Random) => String(Math.floor(random() * max));
const hex = (length: number) => (random: Random) =>
  Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join("");
const ip = (random: Random) => Array.from({ length: 4 }, () => 1 + Math.floor(random() * 254)).join(".");
const two = (value: number) => String(value).padStart(2, "0");
const time = (random: Random) =>
  `2026-0${1 + Math.floor(random() * 9)}-${two(1 + Math.floor(random() * 28))} ${two(Math.floor(random() * 24))}:${two(Math.floor(random() * 60))}:${two(Math.floor(random() * 60))}.${int(1000)(random).padStart(3, "0")}`;
const clfTime = (random: Random) =>
  `${two(1 + Math.floor(random() * 28))}/Oct/2026:${two(Math.floor(random() * 24))}:${two(Math.floor(random() * 60))}:${two(Math.floor(random() * 60))}`;
const uuid = (random: Random) => [8, 4, 4, 4, 12].map((size) => hex(size)(random)).join("-");

const USERS = ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy", "mallory", "olivia"];
const AGENTS = [
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15",
  "curl/8.5.0",
  "kube-probe/1.30",
  "Go-http-client/2.0",
];
const PATHS = [
  "/",
  "/index.html",
  "/api/v1/orders",
  "/api/v1/orders/17",
  "/static/app.js",
  "/login",
  "/search?q=shoes",
];

export const CORPORA: readonly Corpus[] = [
  {
    name: "access logs",
    values: {
      ip,
      time: clfTime,
      user: [...USERS, "-"],
      request: (random) =>
        `${["GET", "POST", "HEAD"][Math.floor(random() * 3)]} ${PATHS[Math.floor(random() * PATHS.length)]} HTTP/1.1`,
      status: ["200", "301", "404", "500"],
      bytes: int(90_000),
      referer: ["-", "https://shop.example/", "https://search.example/q7", "https://shop.example/cart"],
      agent: AGENTS,
      ms: int(3000),
      upstream: (random) => `${ip(random)}:8080`,
      id: uuid,
    },
    templates: [
      '{ip} - {user} [{time} +0000] "{request}" {status} {bytes} "{referer}" "{agent}"',
      '{ip} - {user} [{time} +0000] "{request}" {status} {bytes} "{referer}" "{agent}" rt={ms} upstream={upstream} id={id}',
      "upstream timed out while reading response header from upstream, client: {ip}, server: shop, upstream: {upstream}",
      "client {ip} closed keepalive connection",
      "limiting requests, excess: {ms} by zone api, client: {ip}",
      "SSL handshake with {ip} failed after {ms} ms",
    ],
  },
  {
    name: "Java services",
    values: {
      time,
      thread: (random) => `http-nio-8080-exec-${1 + Math.floor(random() * 20)}`,
      user: USERS,
      order: int(1_000_000),
      ms: int(5000),
      id: uuid,
      table: ["orders", "users", "carts", "invoices", "payments", "shipments", "refunds"],
      n: int(64),
    },
    templates: [
      "{time}  INFO 1 --- [{thread}] c.e.shop.OrderService : Order {order} placed by {user} in {ms} ms",
      "{time}  INFO 1 --- [{thread}] c.e.shop.OrderService : Order {order} cancelled by {user}",
      "{time}  INFO 1 --- [{thread}] c.e.shop.OrderService : Order {order} shipped to {user}",
      "{time}  WARN 1 --- [{thread}] c.e.shop.PaymentClient : Payment {id} declined, retry {n} of 5",
      "{time} ERROR 1 --- [{thread}] c.e.shop.PaymentClient : Connection to payments refused after {ms} ms",
      "{time} DEBUG 1 --- [{thread}] o.h.SQL : select * from {table} where id={order}",
      "{time}  INFO 1 --- [main] c.e.shop.Application : Started Application in {ms} seconds",
      "{time}  INFO 1 --- [scheduling-1] c.e.shop.Cache : Evicted {n} entries from cache {table}",
      "user {user} logged in from session {id}",
      "HikariPool-1 - Pool stats (total={n}, active={n}, idle={n}, waiting={n})",
      '{"level":"info","msg":"charged card","user":"{user}","ms":{ms},"order":"{order}"}',
    ],
  },
  {
    name: "Kubernetes",
    values: {
      pod: (random) =>
        `${["cart", "shop", "search", "mail"][Math.floor(random() * 4)]}-${hex(9)(random)}-${hex(5)(random)}`,
      container: ["nginx", "redis", "envoy", "cart", "search", "mailer", "worker"],
      node: (random) => `node-${int(40)(random)}`,
      namespace: ["default", "kube-system", "shop", "monitoring", "ingress", "payments"],
      s: (random) => `${(random() * 30).toFixed(3)}s`,
      id: hex(64),
      n: int(50),
      ip,
      tag: (random) => `${int(90)(random)}.${int(9)(random)}`,
      url: (random) => `http://${ip(random)}:8080/healthz`,
      klog: (random) => `I${two(1 + Math.floor(random() * 12))}${two(1 + Math.floor(random() * 28))}`,
      clock: (random) =>
        `${two(Math.floor(random() * 24))}:${two(Math.floor(random() * 60))}:${two(Math.floor(random() * 60))}.${int(999_999)(random)}`,
      pid: int(9),
    },
    templates: [
      "Successfully assigned {namespace}/{pod} to {node}",
      "Pulling image registry.example/shop/app:{tag}",
      "Successfully pulled image registry.example/shop/app:{tag} in {s}",
      "Created container {container}",
      "Started container {container}",
      "Killing container {container}",
      "Back-off restarting failed container {container} in pod {pod}",
      "Readiness probe failed: Get {url}: context deadline exceeded",
      "Liveness probe failed: HTTP probe failed with statuscode: {n}",
      "{klog} {clock} {pid} kubelet.go:2345] SyncLoop UPDATE source=api pods=[{namespace}/{pod}]",
      "{klog} {clock} {pid} scale.go:77] Scaled up replica set {pod} to {n}",
      'level=info ts={clock} caller=main.go:{n} msg="compacted blocks" duration={s}',
      'level=warn ts={clock} caller=main.go:{n} msg="slow scrape" target={ip}',
      "Node {node} status is now: NodeReady",
      "Evicted pod {pod} from {node}, memory usage {n} exceeded",
    ],
  },
];

/** Lines of a corpus. Templates that come first are more frequent, as in real logs. */
export function corpusLines({ templates, values }: Corpus, count: number, random: Random): CorpusLine[] {
  return Array.from({ length: count }, () => {
    const template = templates[Math.floor(random() * random() * templates.length)]!;
    const text = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const source = values[name]!;
      return typeof source === "function" ? source(random) : source[Math.floor(random() * source.length)]!;
    });
    return { text, pattern: template.split("\n", 1)[0]!.replace(/\{\w+\}/g, "<*>") };
  });
}

/** A random number generator with a seed (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
