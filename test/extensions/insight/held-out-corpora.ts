import type { Corpus } from "./log-corpora.js";

/**
 * Corpora that were written without a look at the rules of the miner, and measured before anything was changed for
 * them. Lines are in the style of real servers. `{x}` is what varies for a person, also if it has only a few values. If a
 * template has several lines, only the first one is the pattern.
 */

export type Random = () => number;

export const one =
  <T>(list: readonly T[]) =>
  (random: Random) =>
    list[Math.floor(random() * list.length)]!;
export const int = (min: number, max: number) => (random: Random) => String(min + Math.floor(random() * (max - min)));
export const hex = (length: number) => (random: Random) =>
  Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join("");
export const letters = (length: number) => (random: Random) =>
  Array.from({ length }, () => "bcdfghjklmnpqrstvwxz2456789"[Math.floor(random() * 27)]).join("");
export const two = (random: Random, max: number) => String(Math.floor(random() * max)).padStart(2, "0");
export const clock = (random: Random) => `${two(random, 24)}:${two(random, 60)}:${two(random, 60)}`;
export const day = (random: Random) => String(1 + Math.floor(random() * 28)).padStart(2, "0");
export const ip = (random: Random) => Array.from({ length: 4 }, () => 1 + Math.floor(random() * 254)).join(".");
export const privateIp = (random: Random) => `10.${int(0, 255)(random)}.${int(0, 255)(random)}.${int(1, 255)(random)}`;
export const uuid = (random: Random) => [8, 4, 4, 4, 12].map((size) => hex(size)(random)).join("-");
const base64 = (length: number) => (random: Random) =>
  Array.from(
    { length },
    () => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[Math.floor(random() * 64)],
  ).join("");

const SITES = ["shop.example.com", "www.example.com", "api.example.com", "static.example.net", "blog.example.org"];
const WEB_PATHS = [
  ..."/ /cart /checkout /favicon.ico /robots.txt /wp-login.php /api/v2/items /api/v2/items/9913 /img/logo.svg".split(
    " ",
  ),
  ..."/.env /search?q=red+shoes&page=2 /account/orders/2026-10 /health /admin/login.jsp /assets/main.4f9a1c.css".split(
    " ",
  ),
];
export const METHODS = ["GET", "GET", "GET", "POST", "PUT", "DELETE"];
export const BROWSERS = [
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0 Safari/537.36",
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.6 Safari/605.1.15",
  "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
  "python-requests/2.32.3",
  "okhttp/4.12.0",
  "Prometheus/2.53.1",
  "-",
];
export const requestLine = (random: Random) =>
  `${one(METHODS)(random)} ${one(WEB_PATHS)(random)} HTTP/${one(["1.1", "2.0"])(random)}`;
const ZONES = ["+0000", "+0200", "-0700"];
const YEARS = ["2025", "2026"];
export const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

const WEB: Corpus = {
  name: "web servers",
  values: {
    ip,
    clf: (random) =>
      `${day(random)}/${one(MONTHS)(random)}/${one(YEARS)(random)}:${clock(random)} ${one(ZONES)(random)}`,
    ngtime: (random) => `2026/10/${day(random)} ${clock(random)}`,
    aptime: (random) =>
      `${one(WEEKDAYS)(random)} ${one(MONTHS)(random)} ${day(random)} ${clock(random)}.${int(100000, 999999)(random)} ${one(YEARS)(random)}`,
    user: (random) => one(["-", "-", "-", "anna", "deploy", "j.smith", "ops", "reporting", "test"])(random),
    request: requestLine,
    status: ["200", "200", "200", "201", "204", "302", "304", "400", "404", "499", "502"],
    bytes: int(0, 250_000),
    referer: (random) =>
      one(["-", "https://shop.example.com/", "https://www.google.com/", "https://shop.example.com/cart?step=2"])(
        random,
      ),
    agent: BROWSERS,
    seconds: (random) => (random() * 3).toFixed(3),
    pid: int(300, 32_000),
    conn: int(1, 9_000_000),
    site: SITES,
    upstream: (random) => `http://${privateIp(random)}:8080${one(WEB_PATHS)(random)}`,
    path: WEB_PATHS,
    port: int(1024, 65_000),
    file: (random) => `/var/www/${one(SITES)(random)}/html${one(WEB_PATHS)(random)}`,
    size: int(1_000_000, 90_000_000),
    worker: int(1, 64),
  },
  templates: [
    '{ip} - {user} [{clf}] "{request}" {status} {bytes} "{referer}" "{agent}"',
    '{ip} - {user} [{clf}] "{request}" {status} {bytes} "{referer}" "{agent}"',
    '{ip} - {user} [{clf}] "{request}" {status} {bytes} "{referer}" "{agent}" rt={seconds} uct={seconds} urt={seconds}',
    '{ngtime} [error] {pid}#{pid}: *{conn} connect() failed (111: Connection refused) while connecting to upstream, client: {ip}, server: {site}, request: "{request}", upstream: "{upstream}", host: "{site}"',
    '{ngtime} [error] {pid}#{pid}: *{conn} upstream timed out (110: Connection timed out) while reading response header from upstream, client: {ip}, server: {site}, request: "{request}", upstream: "{upstream}", host: "{site}"',
    '{ngtime} [error] {pid}#{pid}: *{conn} open() "{file}" failed (2: No such file or directory), client: {ip}, server: {site}, request: "{request}", host: "{site}"',
    "{ngtime} [warn] {pid}#{pid}: *{conn} a client request body is buffered to a temporary file /var/cache/nginx/client_temp/{conn}, client: {ip}, server: {site}",
    '{ngtime} [error] {pid}#{pid}: *{conn} client intended to send too large body: {size} bytes, client: {ip}, server: {site}, request: "{request}", host: "{site}"',
    "{ngtime} [notice] {pid}#{pid}: signal process started",
    "{ngtime} [notice] {pid}#{pid}: gracefully shutting down",
    "{ngtime} [alert] {pid}#{pid}: worker process {pid} exited on signal 11",
    "[{aptime}] [core:notice] [pid {pid}:tid {conn}] AH00094: Command line: '/usr/sbin/apache2'",
    "[{aptime}] [mpm_event:notice] [pid {pid}:tid {conn}] AH00489: Apache/2.4.62 (Debian) configured -- resuming normal operations",
    "[{aptime}] [authz_core:error] [pid {pid}:tid {conn}] [client {ip}:{port}] AH01630: client denied by server configuration: {file}",
    "[{aptime}] [proxy_http:error] [pid {pid}:tid {conn}] (20014)Internal error (specific information not available): [client {ip}:{port}] AH01102: error reading status line from remote server {site}:{port}",
    "[{aptime}] [php:error] [pid {pid}:tid {conn}] [client {ip}:{port}] script '{file}' not found or unable to stat",
    "[{aptime}] [mpm_event:error] [pid {pid}:tid {conn}] AH00485: scoreboard is full, not at MaxRequestWorkers",
  ],
};

const LOGGERS = ["c.e.orders.OrderService", "c.e.billing.InvoiceJob", "c.e.cart.CartController", "c.e.stock.StockSync"];
const TABLES = ["orders", "invoices", "customers", "stock_items", "shipments", "price_lists"];
const NAMES = ["anna", "ben", "chloe", "dmitri", "elena", "farid", "gita", "hugo", "ines", "jonas", "kim", "lars"];
const STACK = [
  "\tat com.example.orders.OrderService.place(OrderService.java:{line})",
  "\tat com.example.orders.OrderController.post(OrderController.java:{line})",
  "\tat java.base/java.lang.reflect.Method.invoke(Method.java:{line})",
  "\t... {n} more",
].join("\n");

const JAVA: Corpus = {
  name: "Spring services",
  values: {
    t: (random) => `2026-10-${day(random)}T${clock(random)}.${String(Math.floor(random() * 1000)).padStart(3, "0")}Z`,
    thread: (random) =>
      one([
        `nio-8080-exec-${int(1, 200)(random)}`,
        `scheduling-${int(1, 8)(random)}`,
        `kafka-consumer-${int(0, 12)(random)}`,
      ])(random),
    pid: int(1, 9),
    logger: LOGGERS,
    order: (random) => `ORD-${int(100_000, 999_999)(random)}`,
    uuid,
    ms: int(1, 20_000),
    n: int(1, 500),
    line: int(20, 900),
    name: NAMES,
    table: TABLES,
    topic: (random) => one(["orders.v1", "payments.v2", "stock-changes", "mail.outbox", "audit", "prices.eu"])(random),
    partition: int(0, 32),
    offset: int(1_000, 900_000_000),
    money: (random) => `${int(1, 2_000)(random)}.${two(random, 100)}`,
    currency: ["EUR", "USD", "GBP", "SEK", "CHF", "PLN"],
    country: ["DE", "SE", "US", "FR", "ES", "NL", "IT"],
    url: (random) =>
      `http://${one(["payment", "stock", "mail", "tax", "fraud", "address"])(random)}-service:8080/api/${one(["v1", "v2"])(random)}/${uuid(random)}`,
    mail: (random) => `${one(NAMES)(random)}.${letters(5)(random)}@example.com`,
    status: ["400", "401", "404", "409", "429", "500", "503"],
    sku: (random) => `${letters(3)(random).toUpperCase()}-${int(1000, 9999)(random)}`,
    host: (random) => `db-${int(1, 6)(random)}.internal`,
    file: (random) => `/data/import/${one(TABLES)(random)}-2026-10-${day(random)}.csv`,
    size: (random) => (random() * 90).toFixed(1),
    state: ["NEW", "PAID", "PACKED", "SHIPPED", "RETURNED", "CANCELLED"],
    node: int(0, 9),
    object: (random) => `Order@${hex(7)(random)}`,
    list: (random) => Array.from({ length: 1 + Math.floor(random() * 4) }, () => int(1, 9999)(random)).join(", "),
  },
  templates: [
    "{t}  INFO {pid} --- [{thread}] {logger} : Order {order} of customer {uuid} placed: {n} items, total {money} {currency}",
    "{t}  INFO {pid} --- [{thread}] {logger} : Order {order} changed from {state} to {state}",
    "{t}  INFO {pid} --- [{thread}] {logger} : Started request {uuid} for user {name}",
    "{t}  INFO {pid} --- [{thread}] {logger} : Finished request {uuid} in {ms} ms with status {status}",
    "{t} DEBUG {pid} --- [{thread}] {logger} : Cache miss for key {sku}, loading from {table}",
    "{t} DEBUG {pid} --- [{thread}] o.h.SQL : select * from {table} where id in [{list}]",
    "{t}  WARN {pid} --- [{thread}] {logger} : Call to {url} took {ms} ms, limit is 2000 ms",
    "{t}  WARN {pid} --- [{thread}] {logger} : Retrying payment of {order}, attempt {n} of 5",
    `{t} ERROR {pid} --- [{thread}] {logger} : Could not place order {order}\njava.lang.IllegalStateException: stock of {sku} is negative\n${STACK}`,
    `{t} ERROR {pid} --- [{thread}] {logger} : Call to {url} failed with status {status}\n${STACK}`,
    `java.sql.SQLTransientConnectionException: HikariPool-1 - Connection is not available, request timed out after {ms}ms.\n${STACK}`,
    `org.postgresql.util.PSQLException: Connection to {host}:5432 refused. Check that the hostname and port are correct and that the postmaster is accepting TCP/IP connections.\n${STACK}`,
    `java.lang.NullPointerException: Cannot invoke "com.example.{object}.total()" because "order" is null\n${STACK}`,
    "{t}  INFO {pid} --- [{thread}] o.a.k.c.c.i.ConsumerCoordinator : [Consumer clientId=consumer-orders-{n}, groupId=orders] Setting offset for partition {topic}-{partition} to the committed offset FetchPosition{offset={offset}, leaderEpoch={node}}",
    "{t}  INFO {pid} --- [{thread}] o.a.k.clients.NetworkClient : [Consumer clientId=consumer-orders-{n}, groupId=orders] Node {node} disconnected.",
    "{t}  INFO {pid} --- [{thread}] {logger} : Imported {n} rows from {file} ({size} MB) in {ms} ms",
    "{t}  INFO {pid} --- [{thread}] {logger} : Mail to {mail} queued with id {uuid}",
    "{t}  INFO {pid} --- [{thread}] {logger} : Tax rate of {country} is {n} percent",
    "{t}  INFO {pid} --- [main] o.s.b.w.e.tomcat.TomcatWebServer : Tomcat started on port 8080 (http) with context path '/'",
    "{t}  INFO {pid} --- [main] com.example.Application : Started Application in {ms} seconds (process running for {ms})",
    "{t}  WARN {pid} --- [{thread}] com.zaxxer.hikari.pool.PoolBase : HikariPool-1 - Failed to validate connection org.postgresql.jdbc.PgConnection@{n} (This connection has been closed.). Possibly consider using a shorter maxLifetime value.",
    "{t}  INFO {pid} --- [{thread}] {logger} : Nightly cleanup of {table} removed {n} rows",
  ],
};

const NAMESPACES = ["kube-system", "default", "shop", "monitoring", "ingress-nginx", "cert-manager", "payments"];
const APPS = ["checkout", "cart", "coredns", "web", "prometheus", "kube-proxy", "mailer", "fraud-api"];
const pod = (random: Random) => `${one(APPS)(random)}-${letters(9)(random)}-${letters(5)(random)}`;
const podPath = (random: Random) => `${one(NAMESPACES)(random)}/${pod(random)}`;

const KUBERNETES: Corpus = {
  name: "Kubernetes components",
  values: {
    k: (random) =>
      `10${day(random)} ${clock(random)}.${int(100000, 999999)(random)}    ${int(1, 4000)(random).padStart(4, " ")}`,
    line: int(20, 2400),
    pod: podPath,
    podref: (random) => `${pod(random)}_${one(NAMESPACES)(random)}`,
    ns: NAMESPACES,
    app: APPS,
    uid: uuid,
    image: (random) =>
      `registry.example.com/${one(APPS)(random)}:${one(["v1.2.0", "v1.2.1", "2026-10-01", "latest", "main-4fa2"])(random)}`,
    id: hex(64),
    node: (random) =>
      `ip-10-${int(0, 255)(random)}-${int(0, 255)(random)}-${int(1, 255)(random)}.eu-west-1.compute.internal`,
    ip: privateIp,
    ms: (random) => `${(random() * 900).toFixed(3)}ms`,
    dur: (random) => one([`${int(1, 59)(random)}s`, `${int(1, 9)(random)}m${int(0, 59)(random)}s`])(random),
    backoff: ["10s", "20s", "40s", "1m20s", "2m40s", "5m0s"],
    rv: int(1_000_000, 90_000_000),
    port: int(1024, 65_000),
    n: int(1, 200),
    code: int(1, 143),
    verb: ["GET", "LIST", "WATCH", "PUT", "PATCH"],
    uri: (random) =>
      `/api/v1/namespaces/${one(NAMESPACES)(random)}/${one(["pods", "endpoints", "secrets", "configmaps", "events"])(random)}/${one(APPS)(random)}`,
    agent: (random) =>
      `${one(["kubelet", "kube-scheduler", "kubectl", "prometheus", "coredns"])(random)}/v1.${int(28, 32)(random)}.${int(0, 9)(random)}`,
    status: ["200", "201", "404", "409", "500"],
    volume: (random) => `kube-api-access-${letters(5)(random)}`,
    probe: ["Liveness", "Readiness", "Startup"],
    kind: ["ReplicaSet", "Job", "DaemonSet", "StatefulSet", "Deployment"],
    pct: int(80, 100),
    mem: int(100_000_000, 9_000_000_000),
  },
  templates: [
    'I{k} kubelet.go:{line}] "SyncLoop ADD" source="api" pods=["{pod}"]',
    'I{k} kubelet.go:{line}] "SyncLoop DELETE" source="api" pods=["{pod}"]',
    'I{k} kubelet.go:{line}] "SyncLoop (PLEG): event for pod" pod="{pod}" event={"ID":"{uid}","Type":"ContainerStarted","Data":"{id}"}',
    'E{k} pod_workers.go:{line}] "Error syncing pod, skipping" err="failed to \\"StartContainer\\" for \\"{app}\\" with CrashLoopBackOff: \\"back-off {backoff} restarting failed container={app} pod={podref}({uid})\\"" pod="{pod}" podUID="{uid}"',
    'I{k} prober.go:{line}] "Probe failed" probeType="{probe}" pod="{pod}" podUID="{uid}" containerName="{app}" probeResult="failure" output="Get \\"http://{ip}:{port}/healthz\\": dial tcp {ip}:{port}: connect: connection refused"',
    'I{k} scope.go:{line}] "RemoveContainer" containerID="{id}"',
    'E{k} remote_runtime.go:{line}] "ContainerStatus from runtime service failed" err="rpc error: code = NotFound desc = an error occurred when try to find container \\"{id}\\": not found" containerID="{id}"',
    'I{k} reconciler_common.go:{line}] "operationExecutor.MountVolume started for volume \\"{volume}\\" (UniqueName: \\"kubernetes.io/projected/{uid}-{volume}\\") pod \\"{app}\\" (UID: \\"{uid}\\") " pod="{pod}"',
    'I{k} pod_startup_latency_tracker.go:{line}] "Observed pod startup duration" pod="{pod}" podStartSLOduration={ms} podStartE2EDuration="{dur}"',
    "W{k} reflector.go:{line}] k8s.io/client-go/informers/factory.go:{line}: watch of *v1.Pod ended with: too old resource version: {rv} ({rv})",
    'I{k} trace.go:{line}] Trace[{rv}]: "List" url:{uri},user-agent:{agent},client:{ip} (total time: {ms}):',
    'I{k} httplog.go:{line}] "HTTP" verb="{verb}" URI="{uri}" latency="{ms}" userAgent="{agent}" srcIP="{ip}:{port}" resp={status}',
    'I{k} schedule_one.go:{line}] "Successfully bound pod to node" pod="{pod}" node="{node}" evaluatedNodes={n} feasibleNodes={n}',
    'I{k} event.go:{line}] "Event occurred" object="{ns}/{app}" fieldPath="" kind="{kind}" apiVersion="apps/v1" type="Normal" reason="SuccessfulCreate" message="Created pod: {app}"',
    'I{k} garbagecollector.go:{line}] "Deleting item" logger="garbage-collector-controller" item="[v1/Pod, namespace: {ns}, name: {app}, uid: {uid}]" propagationPolicy="Background"',
    'E{k} leaderelection.go:{line}] error retrieving resource lock kube-system/kube-scheduler: Get "https://{ip}:6443/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler?timeout=5s": context deadline exceeded',
    "W{k} eviction_manager.go:{line}] attempting to reclaim memory",
    'I{k} image_gc_manager.go:{line}] "Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold" usage={pct} highThreshold=85 amountToFree={mem} lowThreshold=80',
    'I{k} kuberuntime_manager.go:{line}] "Container failed liveness probe, will be restarted" containerName="{app}" pod="{pod}"',
    'I{k} node_controller.go:{line}] "Node is unresponsive as of now. Adding it to the Taint queue" node="{node}"',
    "I{k} proxier.go:{line}] syncProxyRules took {ms}",
    'I{k} csr.go:{line}] "certificate signing request is approved" csr="csr-{app}" remaining={n}',
  ],
};

const HOSTS = ["web1", "web2", "db1", "bastion", "mail", "build7"];
const SYSTEM: Corpus = {
  name: "sshd and syslog",
  values: {
    t: (random) => `${one(MONTHS)(random)} ${String(1 + Math.floor(random() * 28)).padStart(2, " ")} ${clock(random)}`,
    host: HOSTS,
    pid: int(200, 400_000),
    user: ["root", "admin", "deploy", "oracle", "git", "ubuntu", "test", "postgres", "backup", "anna", "ben"],
    ip,
    port: int(1024, 65_000),
    key: (random) => `SHA256:${base64(43)(random)}`,
    type: ["ED25519", "RSA", "ECDSA"],
    session: int(1, 90_000),
    uid: int(0, 2_000),
    unit: ["nginx", "postgresql", "fstrim", "apt-daily", "logrotate", "docker", "man-db"],
    seconds: (random) => `${int(1, 900_000)(random)}.${int(100000, 999999)(random)}`,
    cpu: (random) => `${int(0, 60)(random)}.${int(100, 999)(random)}s`,
    iface: ["eth0", "ens5", "veth3fa1b2c", "docker0", "wg0", "br-91ac"],
    mac: (random) => Array.from({ length: 6 }, () => hex(2)(random)).join(":"),
    proc: ["java", "node", "postgres", "python3", "chrome", "mysqld"],
    kb: int(1_000, 9_000_000),
    cmd: (random) =>
      one([
        "/usr/bin/apt update",
        "/bin/systemctl restart nginx",
        "/usr/bin/tail -f /var/log/syslog",
        "/bin/bash",
        "/usr/bin/docker ps",
        "/usr/sbin/service app reload",
      ])(random),
    script: (random) =>
      one([
        "run-parts /etc/cron.hourly",
        "/opt/backup.sh --full",
        "/usr/local/bin/sync",
        "cd / && test -x /usr/sbin/anacron",
        "/usr/lib/sa/sa1 1 1",
        "php /var/www/cron.php",
      ])(random),
    tty: ["pts/0", "pts/1", "pts/3", "tty1"],
    mailid: (random) => hex(10)(random).toUpperCase(),
    mail: (random) => `${one(NAMES)(random)}@example.${one(["com", "org", "net"])(random)}`,
    delay: (random) => (random() * 9).toFixed(2),
    disk: ["sda", "sdb", "nvme0n1", "vda", "dm-0"],
    sector: int(1_000, 900_000_000),
    temp: int(30, 99),
  },
  templates: [
    "{t} {host} sshd[{pid}]: Failed password for invalid user {user} from {ip} port {port} ssh2",
    "{t} {host} sshd[{pid}]: Failed password for {user} from {ip} port {port} ssh2",
    "{t} {host} sshd[{pid}]: Accepted publickey for {user} from {ip} port {port} ssh2: {type} {key}",
    "{t} {host} sshd[{pid}]: Invalid user {user} from {ip} port {port}",
    "{t} {host} sshd[{pid}]: Connection closed by authenticating user {user} {ip} port {port} [preauth]",
    "{t} {host} sshd[{pid}]: Received disconnect from {ip} port {port}:11: Bye Bye [preauth]",
    "{t} {host} sshd[{pid}]: Disconnected from user {user} {ip} port {port}",
    "{t} {host} sshd[{pid}]: pam_unix(sshd:session): session opened for user {user}(uid={uid}) by (uid=0)",
    "{t} {host} sshd[{pid}]: pam_unix(sshd:session): session closed for user {user}",
    "{t} {host} sshd[{pid}]: pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost={ip}  user={user}",
    "{t} {host} sshd[{pid}]: error: maximum authentication attempts exceeded for {user} from {ip} port {port} ssh2 [preauth]",
    "{t} {host} systemd[1]: Started {unit}.service.",
    "{t} {host} systemd[1]: {unit}.service: Deactivated successfully.",
    "{t} {host} systemd[1]: {unit}.service: Consumed {cpu} CPU time.",
    "{t} {host} systemd[1]: {unit}.service: Main process exited, code=exited, status=1/FAILURE",
    "{t} {host} systemd-logind[{pid}]: New session {session} of user {user}.",
    "{t} {host} systemd-logind[{pid}]: Session {session} logged out. Waiting for processes to exit.",
    "{t} {host} CRON[{pid}]: ({user}) CMD ({script})",
    "{t} {host} sudo[{pid}]:   {user} : TTY={tty} ; PWD=/home/{user} ; USER=root ; COMMAND={cmd}",
    "{t} {host} kernel: [{seconds}] {iface}: renamed from eth{uid}",
    "{t} {host} kernel: [{seconds}] Out of memory: Killed process {pid} ({proc}) total-vm:{kb}kB, anon-rss:{kb}kB, file-rss:{kb}kB, shmem-rss:0kB, UID:{uid} pgtables:{kb}kB oom_score_adj:0",
    "{t} {host} kernel: [{seconds}] blk_update_request: I/O error, dev {disk}, sector {sector} op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
    "{t} {host} kernel: [{seconds}] CPU{uid}: Core temperature above threshold, cpu clock throttled (total events = {session})",
    "{t} {host} dhclient[{pid}]: DHCPACK of {ip} from {ip} (xid=0x{uid})",
    "{t} {host} postfix/smtp[{pid}]: {mailid}: to=<{mail}>, relay=mx.example.com[{ip}]:25, delay={delay}, delays={delay}/{delay}/{delay}/{delay}, dsn=2.0.0, status=sent (250 2.0.0 OK)",
    "{t} {host} postfix/qmgr[{pid}]: {mailid}: removed",
    "{t} {host} postfix/smtpd[{pid}]: connect from unknown[{ip}]",
  ],
};

export const HELD_OUT_CORPORA: readonly Corpus[] = [WEB, JAVA, KUBERNETES, SYSTEM];
