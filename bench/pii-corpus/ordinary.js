import { randomFrom } from "./random.js";

/**
 * Ordinary log lines without personal data or secrets, but as similar to them as real logs are: timestamps, ids,
 * hashes, versions, prices, URLs, stack traces, in several languages.
 *
 * @typedef {import("./random.js").Random} Random
 * @param {number} count @param {number} seed @returns {string[]}
 */
export function ordinaryLines(count, seed = 1) {
  const random = randomFrom(seed);
  return Array.from({ length: count }, (_, i) => KINDS[i % KINDS.length](random));
}

const pad = (/** @type {number} */ n, size = 2) => String(n).padStart(size, "0");
const time = (/** @type {Random} */ r) => `${pad(r.int(0, 23))}:${pad(r.int(0, 59))}:${pad(r.int(0, 59))}`;
const day = (/** @type {Random} */ r) => `${r.int(2015, 2027)}-${pad(r.int(1, 12))}-${pad(r.int(1, 28))}`;
const iso = (/** @type {Random} */ r) =>
  `${day(r)}T${time(r)}.${r.digits(r.pick([3, 6, 9]))}${r.pick(["Z", "+02:00", "-0500"])}`;
const uuid = (/** @type {Random} */ r) => [8, 4, 4, 4, 12].map((n) => r.hex(n)).join("-");
const level = (/** @type {Random} */ r) => r.pick(["INFO", "DEBUG", "WARN", "ERROR", "info", "level=warn"]);
const service = (/** @type {Random} */ r) =>
  r.pick(["checkout", "payments-api", "auth.session", "com.acme.orders.Worker", "edge_proxy", "kube-scheduler"]);
const host = (/** @type {Random} */ r) =>
  r.pick(["node-3.internal", "api.example.com", "svc.prod.svc.cluster.local", "db-1", "cdn.acme.io", "localhost"]);
const path = (/** @type {Random} */ r) =>
  r.pick(["/api/v2/orders/", "/users/", "/static/js/app.", "/v1/items?id=", "/health/", "/wp-content/2019/03/"]) +
  r.pick([r.digits(6), r.hex(12), uuid(r), "main.css", "search?q=shoes&page=2"]);

/** @type {((r: Random) => string)[]} */
const KINDS = [
  (r) => `${iso(r)} ${level(r)} ${service(r)} request ${uuid(r)} finished in ${r.int(1, 9000)} ms`,
  (r) =>
    `GET https://${host(r)}${path(r)} ${r.pick([200, 204, 301, 404, 500])} ${r.int(100, 99999)} "${r.pick(["-", "curl/8.4.0", "kube-probe/1.29"])}"`,
  (r) =>
    `"GET ${path(r)} HTTP/1.1" ${r.pick([200, 304])} ${r.int(0, 999999)} "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${r.int(90, 130)}.0.${r.pick(["0.0", `${r.int(4000, 6999)}.${r.int(1, 200)}`])} Safari/537.36"`,
  (r) =>
    `    at ${service(r)}.handle(${r.pick(["Worker.java", "index.js", "app.ts"])}:${r.int(1, 4000)}:${r.int(1, 120)})`,
  (r) => `  File "/usr/lib/python3.${r.int(8, 13)}/site-packages/acme/core.py", line ${r.int(1, 3000)}, in _run_once`,
  (r) =>
    `goroutine ${r.int(1, 99999)} [running]: main.(*Server).serve(0xc000${r.hex(6)}, {0x${r.hex(6)}, 0x${r.hex(2)}})`,
  (r) => `Caused by: java.lang.IllegalStateException: state ${r.digits(4)} at com.acme.Foo$Bar@${r.hex(8)}`,
  (r) => `commit ${r.hex(40)} merged into release/${r.int(1, 9)}.${r.int(0, 40)} (${r.hex(7)})`,
  (r) => `image registry.acme.io/shop/cart@sha256:${r.hex(64)} pulled in ${r.int(1, 90)}.${r.digits(3)}s`,
  (r) => `etag="${r.hex(32)}" size=${r.digits(r.int(3, 9))} crc=0x${r.hex(8)} md5 ${r.hex(32)}`,
  (r) => `payload ${r.base64(r.int(12, 90))} decoded, ${r.int(10, 900)} bytes`,
  (r) => `session blob ${r.base64url(r.int(20, 60))} stored under ${r.alnum(22)}`,
  (r) =>
    `started at ${r.int(1400000000, 1899999999)}, now ${r.int(1400000000, 1899999999)}${r.digits(3)}, delta ${r.digits(r.int(1, 9))}`,
  (r) =>
    `ts=${r.int(1400000000, 1899999999)}${r.digits(9)} seq=${r.digits(r.int(1, 12))} offset ${r.digits(r.int(4, 12))} partition ${r.int(0, 64)}`,
  (r) =>
    `${r.pick(["Mon", "Tue", "Wed"])}, ${pad(r.int(1, 28))} ${r.pick(["Jan", "Mar", "Oct"])} ${r.int(2010, 2026)} ${time(r)} GMT: cron job #${r.digits(5)} done`,
  (r) =>
    `[${pad(r.int(1, 28))}/${r.pick(["Feb", "Jul"])}/${r.int(2010, 2026)}:${time(r)} +0000] worker ${r.int(1, 64)} idle for ${r.int(1, 900)}.${r.digits(2)}s`,
  (r) =>
    `${pad(r.int(1, 28))}.${pad(r.int(1, 12))}.${r.int(2010, 2026)} ${time(r)} ${pad(r.int(1, 12))}/${pad(r.int(1, 28))}/${r.int(2010, 2026)} batch closed`,
  (r) =>
    `upgrading acme-agent from ${r.int(0, 9)}.${r.int(0, 30)}.${r.int(0, 99)} to v${r.int(1, 9)}.${r.int(0, 30)}.${r.int(0, 99)}-rc.${r.int(1, 9)}+build.${r.digits(5)}`,
  (r) =>
    `Could not load file or assembly 'Acme.Core, Version=${r.int(1, 9)}.${r.int(0, 9)}.${r.int(0, 9)}.${r.int(0, 9)}, Culture=neutral, PublicKeyToken=${r.hex(16)}'`,
  (r) =>
    `kernel 5.${r.int(4, 19)}.0-${r.int(10, 120)}-generic, openssl ${r.int(1, 3)}.${r.int(0, 9)}.${r.int(0, 9)}${r.pick(["k", "w", ""])}, driver ${r.int(300, 560)}.${r.int(10, 99)}.${pad(r.int(1, 20))}`,
  (r) =>
    `total $${r.int(1, 999)},${r.digits(3)}.${r.digits(2)} (tax ${r.int(1, 99)}.${r.digits(2)}%), discount -${r.int(1, 99)}.${r.digits(2)} EUR`,
  (r) =>
    `Summe ${r.int(1, 999)}.${r.digits(3)},${r.digits(2)} €, montant ${r.int(1, 99)} ${r.digits(3)} ${r.digits(3)},${r.digits(2)} kr, ¥${r.digits(6)}`,
  (r) =>
    `order ${r.pick(["PO-", "ORD", "#", "SO-2024-"])}${r.digits(r.int(5, 10))} shipped, parcel ${r.pick(["1Z", "JD", "RR"])}${r.of("0123456789ABCDEFGHJK", 12)} weight ${r.int(1, 40)}.${r.digits(1)} kg`,
  (r) =>
    `heap ${r.int(10, 9999)} MB used of ${r.digits(5)} (${r.int(1, 99)}.${r.digits(2)}%), gc pause ${r.next().toFixed(6)}, load ${r.next().toFixed(2)} ${r.next().toFixed(2)} ${r.next().toFixed(2)}`,
  (r) =>
    `x ${(r.next() * 180 - 90).toFixed(r.pick([4, 6, 8]))} y ${(r.next() * 360 - 180).toFixed(r.pick([4, 6, 8]))} z ${r.int(0, 4000)}`,
  (r) =>
    `frame ${r.int(1, 99999)} ${r.pick(["1920x1080", "3840x2160"])} @ ${r.int(24, 120)}fps ratio 16:9 bitrate ${r.digits(7)} qp ${r.int(10, 50)}-${r.int(51, 60)}`,
  (r) =>
    `user_id=${r.digits(r.int(4, 9))} account=${r.digits(8)} tweet ${r.int(10, 17)}${r.digits(17)} region=${r.pick(["eu-west-1", "us-east-2"])} shard=${r.int(0, 99)}`,
  (r) => `snowflake ${r.int(1, 9)}${r.digits(17)} txn ${r.digits(16)} batch ${r.digits(12)}`,
  (r) =>
    `iface eth${r.int(0, 9)} up, wwn ${Array.from({ length: 8 }, () => r.hex(2)).join(":")}, mtu ${r.int(1280, 9000)}`,
  (r) =>
    `listening on 127.0.0.1:${r.int(1024, 65535)} and 0.0.0.0:${r.int(1024, 65535)}, [::]:${r.int(1024, 65535)} and [::1]:${r.int(1024, 65535)}`,
  (r) =>
    `npm warn deprecated ${r.pick(["lodash", "@types/node", "left-pad"])}@${r.int(1, 20)}.${r.int(0, 30)}.${r.int(0, 30)}: use ${r.pick(["@acme/kit", "core-js"])}@^${r.int(1, 9)}.0.0`,
  (r) =>
    `asset ${r.pick(["icon", "logo", "hero-banner"])}@${r.int(2, 3)}x.png emitted, chunk ${r.int(1, 999)}.${r.hex(20)}.js (${r.int(1, 900)} KiB)`,
  (r) =>
    `${r.pick(["root", "deploy"])}@${r.pick(["web-1", "bastion"])}:~# git clone git@github.com:acme/${r.pick(["shop", "infra"])}.git (${r.hex(7)})`,
  (r) =>
    `systemd[1]: Started user@${r.int(1000, 1999)}.service, getty@tty${r.int(1, 6)}.service - ${r.pick(["Getty", "User Manager"])}`,
  (r) =>
    `${r.pick(["std::vector<int>", "Acme::Billing::Invoice", "DB::Add", "a::b"])}#${r.pick(["call", "run"])} took ${r.int(1, 900)}us (${time(r)})`,
  (r) =>
    `${r.pick([
      "process_token_renewal_completed",
      "token expired, renewing",
      "invalid password for account",
      "password reset requested",
      "api key missing",
      "secret rotation finished",
      "Basic auth is disabled",
      "Bearer authentication failed",
      "password: required",
      "token: null",
      "the authorization was denied",
      "authorization: token expired",
      "Authorization: Token rejected",
      "token: AuthenticationTokenExpired",
      "unexpected token: IdentifierExpression",
      "access_token=unacknowledged",
      "secret: internationalization",
    ])} (${r.digits(4)})`,
  (r) =>
    `usage prompt_tokens=${r.int(1, 9000)} max_tokens=${r.int(256, 8192)} token_count: ${r.int(1, 999)} password_changed_at=${day(r)} has_password=true`,
  (r) =>
    `{"event":"${r.pick(["cart.updated", "order.paid"])}","id":"${uuid(r)}","qty":${r.int(1, 99)},"sku":"${r.of("ABCDEFGH", 3)}-${r.digits(5)}","at":"${iso(r)}"}`,
  (r) =>
    `SELECT id, total FROM orders WHERE id IN (${r.digits(5)}, ${r.digits(6)}, ${r.digits(7)}) AND created_at > '${day(r)} ${time(r)}' LIMIT ${r.int(1, 500)}`,
  (r) =>
    `isbn 978-${r.int(0, 9)}-${r.digits(2)}-${r.digits(6)}-${r.int(0, 9)} ean ${r.digits(13)} upc ${r.digits(12)} zip ${r.digits(5)}-${r.digits(4)}`,
  (r) =>
    `matrix ${Array.from({ length: r.int(3, 8) }, () => r.int(0, 99)).join(" ")} / ${Array.from({ length: 4 }, () => r.int(100, 9999)).join(" ")}`,
  (r) =>
    `histogram ${Array.from({ length: 6 }, () => r.int(0, 5000)).join(",")} p50=${r.next().toFixed(4)} p99=${(r.next() * 10).toExponential(3)}`,
  (r) =>
    `Verbindung zu ${host(r)} nach ${r.int(1, 30)} Sekunden abgebrochen, Auftrag Nr. ${r.digits(7)} wird später wiederholt (Prüfsumme ${r.hex(8)})`,
  (r) =>
    `Échec de la requête n° ${r.digits(6)} après ${r.int(2, 9)} essais ; délai dépassé de ${r.int(100, 9999)} ms, référence ${r.of("ABCDEF", 2)}-${r.digits(6)}`,
  (r) =>
    `El pedido ${r.digits(8)} se procesó en ${r.int(1, 90)},${r.digits(2)} s; quedan ${r.int(1, 999)} artículos en el almacén ${r.int(1, 40)}`,
  (r) =>
    `Zamówienie ${r.digits(9)} zrealizowane, ${r.int(1, 30)} pozycji, wartość ${r.int(1, 99)} ${r.digits(3)},${r.digits(2)} zł`,
  (r) => `Заказ № ${r.digits(8)} обработан за ${r.int(1, 900)} мс, сервер ${host(r)}, повторов: ${r.int(0, 5)}`,
  (r) =>
    `订单 ${r.digits(12)} 已于 ${day(r)} ${time(r)} 完成,共 ${r.int(1, 99)} 件,金额 ${r.int(1, 9999)}.${r.digits(2)} 元`,
  (r) =>
    `注文番号 ${r.digits(10)} の処理が ${r.int(1, 900)} ミリ秒で完了しました(バージョン ${r.int(1, 9)}.${r.int(0, 9)}.${r.int(0, 9)})`,
  (r) =>
    `주문 ${r.digits(9)} 처리 완료, ${r.int(1, 900)}ms, 재시도 ${r.int(0, 5)}회 · الطلب ${r.digits(7)} اكتمل خلال ${r.int(1, 90)} ثانية`,
];
