import { ordinaryLines } from "../ordinary.js";
import { randomFrom } from "../random.js";
import { uuid } from "./secrets.js";

/**
 * More ordinary telemetry without personal data or secrets, as produced by systems around programs in production.
 *
 * @typedef {import("../random.js").Random} Random
 * @param {number} count @param {number} seed @returns {string[]}
 */
export function ordinaryTelemetry(count, seed) {
  const random = randomFrom(seed * 7919 + 13);
  const half = Math.floor(count / 2);
  return [
    ...ordinaryLines(half, seed + 100),
    ...Array.from({ length: count - half }, (_, i) =>
      /** @type {(r: Random) => string} */ (KINDS[i % KINDS.length])(random),
    ),
  ];
}

const date = (/** @type {Random} */ r) => `${r.int(2018, 2026)}-${r.int(10, 12)}-${r.int(10, 28)}`;
const pod = (/** @type {Random} */ r) =>
  `${r.pick(["checkout", "cart-api", "ledger"])}-${r.hex(9)}-${r.of("bcdfghjklmnpqrstvwxz2456789", 5)}`;

/** @type {((r: Random) => string)[]} */
const KINDS = [
  (r) => `trace_id=${r.hex(32)} span_id=${r.hex(16)} parent=${r.hex(16)} sampled=1`,
  (r) => `traceparent: 00-${r.hex(32)}-${r.hex(16)}-01`,
  (r) =>
    `pod ${pod(r)} on node ip-${r.int(10, 99)}-${r.int(10, 99)}-${r.int(10, 99)}-${r.int(10, 99)}.ec2.internal restarted ${r.int(1, 9)} times`,
  (r) => `uid=${uuid(r)} resourceVersion=${r.digits(9)} generation=${r.int(1, 40)}`,
  (r) => `data:image/png;base64,${r.base64(r.int(60, 200))}`,
  (r) =>
    `part no. ${r.of("ABCDEFGHJKLMNPQRSTUVWXYZ", 3)}-${r.digits(4)}-${r.of("ABCDEFGH", 1)}${r.digits(2)}, rev ${r.of("ABCDE", 1)}, lot ${r.digits(8)}`,
  (r) => `sku=${r.of("ABCDEFGHJK", 2)}${r.digits(6)} stock=${r.int(0, 900)} price=${r.int(1, 900)}.${r.digits(2)}`,
  (r) => `bundle app.${r.hex(20)}.js ${r.int(10, 900)} kB, map sha512-${r.base64(64)}`,
  (r) => `etcd raft term ${r.int(1, 99)} index ${r.digits(10)} member ${r.hex(16)}`,
  (r) => `nonce 0x${r.hex(8)} gas ${r.digits(6)} block ${r.digits(8)} root 0x${r.hex(64)}`,
  (r) =>
    `model gpt-4o-2024-0${r.int(1, 9)}-13 usage: {"prompt_tokens":${r.int(1, 9000)},"completion_tokens":${r.int(1, 900)},"total_tokens":${r.digits(4)}}`,
  (r) => `created ${date(r)}, updated ${date(r)} 12:0${r.int(0, 9)}:44, expires ${date(r)}`,
  (r) =>
    `build ${r.int(2020, 2026)}.${r.int(1, 12)}.${r.int(1, 28)}.${r.int(1, 999)} of ${r.hex(7)} took ${r.int(1, 90)}m${r.int(1, 59)}s`,
  (r) => `arn:aws:s3:::acme-logs-${r.digits(6)}/AWSLogs/${date(r)}/file_${r.hex(8)}.gz`,
  (r) =>
    `kafka: topic=orders partition=${r.int(0, 64)} offset=${r.digits(10)} lag=${r.digits(4)} leader epoch ${r.int(1, 99)}`,
  (r) => `redis: used_memory:${r.digits(9)} keys=${r.digits(6)},expires=${r.digits(5)},avg_ttl=${r.digits(7)}`,
  (r) => `0x${r.hex(16)} in std::panic::catch_unwind::h${r.hex(16)} (rust ${r.int(1, 2)}.${r.int(40, 80)}.0)`,
  (r) => `gc 0x${r.hex(12)} -> 0x${r.hex(12)} freed ${r.digits(8)} bytes in ${r.int(1, 90)}.${r.digits(3)} ms`,
  (r) => `password reset mail queued, token ttl ${r.int(10, 90)} min, secret store reachable, auth provider ok`,
  (r) => `key=cart:${r.digits(6)} hit=true ttl=${r.int(1, 900)} keyspace=orders primary_key=id public_key=ok`,
  (r) => `born ready: worker ${r.int(1, 9)} up since ${date(r)}; birth rate ${r.int(1, 99)}/s`,
  (r) =>
    `account ${r.digits(6)} plan=pro seats=${r.int(1, 99)} invoice INV-${r.int(2020, 2026)}-${r.digits(5)} total ${r.int(100, 999)}.00 USD`,
  (r) =>
    `cookie consent shown, session started for tenant ${r.pick(["acme", "globex"])} in region ${r.pick(["eu", "us"])}-${r.int(1, 4)}`,
  (r) =>
    `tls: cipher TLS_AES_256_GCM_SHA384 cert serial ${r.hex(32)} fingerprint ${Array.from({ length: 20 }, () => r.hex(2).toUpperCase()).join(":")}`,
  (r) =>
    `user-agent: okhttp/${r.int(3, 5)}.${r.int(0, 12)}.${r.int(0, 9)} Dalvik/2.1.0 (Linux; U; Android ${r.int(9, 15)}; SM-G${r.digits(3)}F Build/QP1A.${r.digits(6)}.0${r.int(10, 20)})`,
  (r) =>
    `disk sda${r.int(1, 9)} wwn 0x${r.hex(16)} serial ${r.of("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789", 14)} temp ${r.int(20, 60)}C`,
  (r) =>
    `ULID 01${r.of("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 24)} ksuid 2${r.alnum(26)} nanoid ${r.base64url(15)} cuid c${r.of("abcdefghijklmnopqrstuvwxyz0123456789", 24)}`,
  (r) => `objectid ${r.hex(24)} shard rs${r.int(0, 9)} cursor ${r.digits(18)}`,
  (r) =>
    `SELECT * FROM passports_lookup WHERE state = 'open' AND birth_year > ${r.int(1950, 2000)} LIMIT ${r.int(1, 50)}`,
  (r) =>
    `helm upgrade --install cart ./chart --set image.tag=v${r.int(1, 9)}.${r.int(0, 40)}.${r.int(0, 9)} --set secretName=cart-tls --wait`,
  (r) =>
    `{"@timestamp":"${date(r)}T10:00:0${r.int(0, 9)}.${r.digits(3)}Z","log.level":"info","message":"ok","process.pid":${r.digits(5)},"trace.id":"${r.hex(32)}"}`,
  (r) => `checksum sha256:${r.hex(64)} blake2b ${r.hex(128)} crc32c ${r.base64(4)}`,
  (r) =>
    `http_requests_total{method="GET",code="200",le="0.${r.digits(2)}"} ${r.digits(7)} ${r.int(1600000000, 1800000000)}${r.digits(3)}`,
  (r) =>
    `s3 PUT /bucket/${r.hex(2)}/${r.hex(2)}/${r.hex(36)}.parquet ${r.digits(8)} bytes etag ${r.hex(32)}-${r.int(1, 20)}`,
  (r) => `cert-manager: secret "cart-tls" not found; token review ok; using service account default:${pod(r)}`,
  (r) => `migrate V${r.int(1, 99)}__add_password_column.sql applied, checksum ${r.digits(10)}`,
  (r) =>
    `oauth: grant_type=client_credentials client_id=${r.pick(["cart", "web"])}-frontend scope=read auth=none token_type=bearer`,
  (r) =>
    `phone home disabled; call duration ${r.int(1, 900)} s; tel aviv region latency ${r.int(10, 90)} ms; mobile traffic ${r.int(1, 99)} %`,
  (r) =>
    `rows ${r.digits(3)}-${r.digits(3)} of ${r.digits(6)}, page ${r.int(1, 99)}/${r.int(100, 900)}, ratio ${r.int(1, 9)}:${r.int(10, 99)}`,
  (r) => `license key accepted for product AB-${r.digits(4)}; seat ${r.int(1, 90)}; activation id ${r.digits(12)}`,
];
