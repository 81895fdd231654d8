/**
 * Secrets with a fixed prefix, by the public descriptions of their issuers: the issuer, and how to make one.
 *
 * @typedef {import("../random.js").Random} Random
 * @typedef {{ text: string, behind: string | RegExp }} Described what must go is behind this part of the text
 * @type {[issuer: string, make: (r: Random) => string | Described][]}
 */
export const PREFIXED_SECRETS = [
  ["aws access key", (r) => r.pick(["AKIA", "ASIA"]) + r.of(BASE32, 16)],
  ["aws bedrock", (r) => `ABSK${r.base64(81)}`],
  ["google api key", (r) => `AIza${r.of(URL_SAFE, 35)}`],
  ["google oauth token", (r) => `ya29.${r.of(URL_SAFE, r.int(60, 140))}`],
  ["google oauth secret", (r) => `GOCSPX-${r.of(URL_SAFE, 28)}`],
  ["azure devops", (r) => `${r.alnum(52)}JQQJ99${r.alnum(10)}AZDO${r.alnum(4)}`],
  ["azure storage key", (r) => `${r.of(BASE64, 76)}+ASt${r.of(BASE64, 6)}==`],
  ["azure entra secret", (r) => `${r.alnum(3)}8Q~${r.of(URL_SAFE, 34)}`],
  ["github token", (r) => r.pick(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]) + r.alnum(36)],
  ["github fine-grained", (r) => `github_pat_${r.alnum(22)}_${r.alnum(59)}`],
  ["gitlab personal", (r) => `glpat-${r.of(URL_SAFE, 20)}`],
  [
    "gitlab others",
    (r) =>
      r.pick(["gldt-", "glrt-", "glcbt-64_", "glptt-", "glft-", "glsoat-", "gloas-", "glimt-", "glagent-"]) +
      r.of(URL_SAFE, r.pick([20, 40, 50])),
  ],
  ["slack bot", (r) => `xoxb-${r.digits(12)}-${r.digits(13)}-${r.alnum(24)}`],
  ["slack user", (r) => `xoxp-${r.digits(12)}-${r.digits(12)}-${r.digits(12)}-${r.hex(32)}`],
  ["slack app", (r) => `xapp-1-A${r.of(UPPER_DIGITS, 10)}-${r.digits(13)}-${r.hex(64)}`],
  ["slack config", (r) => `xoxe.xoxp-1-${r.alnum(160)}`],
  [
    "slack webhook",
    (r) => ({
      behind: /.*\//,
      text: `https://hooks.slack.com/services/T${r.of(UPPER_DIGITS, 8)}/B${r.of(UPPER_DIGITS, 10)}/${r.alnum(24)}`,
    }),
  ],
  ["stripe secret", (r) => r.pick(["sk_live_", "rk_live_", "sk_test_"]) + r.alnum(r.pick([24, 99]))],
  ["stripe webhook", (r) => `whsec_${r.alnum(32)}`],
  ["twilio", (r) => `SK${r.hex(32)}`],
  ["sendgrid", (r) => `SG.${r.of(URL_SAFE, 22)}.${r.of(URL_SAFE, 43)}`],
  ["npm", (r) => `npm_${r.alnum(36)}`],
  ["pypi", (r) => `pypi-AgEIcHlwaS5vcmc${r.of(URL_SAFE, r.int(120, 160))}`],
  ["rubygems", (r) => `rubygems_${r.hex(48)}`],
  ["crates.io", (r) => `cio${r.alnum(32)}`],
  ["nuget", (r) => `oy2${r.of("abcdefghijklmnopqrstuvwxyz234567", 43)}`],
  ["docker hub", (r) => r.pick(["dckr_pat_", "dckr_oat_"]) + r.of(URL_SAFE, r.pick([27, 32]))],
  ["shopify", (r) => r.pick(["shpat_", "shpca_", "shppa_", "shpss_"]) + r.hex(32)],
  ["digitalocean", (r) => r.pick(["dop_v1_", "doo_v1_", "dor_v1_"]) + r.hex(64)],
  ["heroku", (r) => `HRKU-AA${r.of(URL_SAFE, 58)}`],
  ["datadog app key", (r) => `ddapp_${r.alnum(34)}`],
  ["new relic user", (r) => `NRAK-${r.of(UPPER_DIGITS, 27)}`],
  ["new relic ingest", (r) => `NRII-${r.of(URL_SAFE, 32)}`],
  ["new relic browser", (r) => `NRJS-${r.hex(19)}`],
  [
    "openai",
    (r) =>
      r.pick([
        `sk-${r.alnum(20)}T3BlbkFJ${r.alnum(20)}`,
        `sk-proj-${r.of(URL_SAFE, 74)}T3BlbkFJ${r.of(URL_SAFE, 74)}`,
        `sk-svcacct-${r.of(URL_SAFE, 120)}`,
      ]),
  ],
  ["anthropic", (r) => `sk-ant-api03-${r.of(URL_SAFE, 93)}AA`],
  ["openrouter", (r) => `sk-or-v1-${r.hex(64)}`],
  ["hugging face", (r) => `hf_${r.of(LETTERS, 34)}`],
  ["replicate", (r) => `r8_${r.alnum(37)}`],
  ["groq", (r) => `gsk_${r.alnum(52)}`],
  ["xai", (r) => `xai-${r.alnum(80)}`],
  ["perplexity", (r) => `pplx-${r.alnum(48)}`],
  ["langsmith", (r) => `lsv2_pt_${r.hex(32)}_${r.hex(10)}`],
  ["pinecone", (r) => `pcsk_${r.alnum(6)}_${r.alnum(63)}`],
  ["telegram bot", (r) => `${r.digits(10).replace(/^0/, "1")}:AA${r.of(URL_SAFE, 33)}`],
  ["discord bot", (r) => `${r.pick(["MT", "OD", "NT", "Nz"])}${r.alnum(24)}.G${r.alnum(5)}.${r.of(URL_SAFE, 38)}`],
  [
    "discord webhook",
    (r) => ({
      behind: /.*\//,
      text: `https://discord.com/api/webhooks/${r.int(1, 9)}${r.digits(17)}/${r.of(URL_SAFE, 68)}`,
    }),
  ],
  ["mailgun", (r) => `key-${r.hex(32)}`],
  ["mailchimp", (r) => `${r.hex(32)}-us${r.int(1, 21)}`],
  ["brevo", (r) => `xkeysib-${r.hex(64)}-${r.alnum(16)}`],
  [
    "square",
    (r) => r.pick([`EAAA${r.of(URL_SAFE, 60)}`, `sq0atp-${r.of(URL_SAFE, 22)}`, `sq0csp-${r.of(URL_SAFE, 43)}`]),
  ],
  ["paypal braintree", (r) => `access_token$production$${r.alnum(16).toLowerCase()}$${r.hex(32)}`],
  ["linear", (r) => `lin_api_${r.alnum(40)}`],
  ["notion", (r) => r.pick([`secret_${r.alnum(43)}`, `ntn_${r.digits(11)}${r.alnum(35)}`])],
  ["atlassian", (r) => `ATATT3xFfGF0${r.of(URL_SAFE, 170)}=${r.hex(8).toUpperCase()}`],
  ["bitbucket", (r) => `ATBB${r.alnum(32)}`],
  ["vault", (r) => r.pick(["hvs.", "hvb.", "hvr."]) + r.of(URL_SAFE, r.int(90, 120))],
  ["terraform cloud", (r) => `${r.alnum(14)}.atlasv1.${r.of(URL_SAFE, 67)}`],
  ["doppler", (r) => `dp.${r.pick(["pt", "st.prd", "ct", "sa"])}.${r.alnum(43)}`],
  ["databricks", (r) => `dapi${r.hex(32)}`],
  ["grafana service account", (r) => `glsa_${r.alnum(32)}_${r.hex(8)}`],
  ["grafana cloud", (r) => `glc_${r.base64(80).replaceAll("=", "")}`],
  ["sentry user", (r) => `sntryu_${r.hex(64)}`],
  ["sentry org", (r) => `sntrys_eyJ${r.base64(60).replaceAll("=", "")}_${r.of(BASE64, 43)}`],
  ["supabase", (r) => r.pick([`sbp_${r.hex(40)}`, `sb_secret_${r.of(URL_SAFE, 22)}_${r.alnum(8)}`])],
  ["cloudflare origin ca", (r) => `v1.0-${r.hex(24)}-${r.hex(146)}`],
  ["fly.io", (r) => ({ text: `FlyV1 fm2_${r.of(BASE64, 120)}`, behind: "FlyV1 " })],
  ["okta", (r) => ({ text: `SSWS 00${r.of(URL_SAFE, 40)}`, behind: "SSWS " })],
  ["postman", (r) => `PMAK-${r.hex(24)}-${r.hex(34)}`],
  ["age", (r) => `AGE-SECRET-KEY-1${r.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)}`],
  ["jwt", (r) => jwt(r)],
  ["figma", (r) => `figd_${r.of(URL_SAFE, 40)}`],
  ["airtable", (r) => `pat${r.alnum(14)}.${r.hex(64)}`],
  ["asana", (r) => `${r.pick(["1", "2"])}/${r.digits(16)}/${r.digits(16)}:${r.hex(32)}`],
  ["planetscale", (r) => r.pick(["pscale_tkn_", "pscale_pw_", "pscale_oauth_"]) + r.of(URL_SAFE, 43)],
  ["pulumi", (r) => `pul-${r.hex(40)}`],
  ["dynatrace", (r) => `dt0c01.${r.of(UPPER_DIGITS, 24)}.${r.of(UPPER_DIGITS, 64)}`],
  [
    "honeycomb",
    (r) => `hc${r.pick(["a", "b"])}ik_01${r.of("abcdefghjkmnpqrstvwxyz0123456789", 24)}${r.alnum(32).toLowerCase()}`,
  ],
  ["launchdarkly", (r) => `${r.pick(["sdk", "api", "mob"])}-${uuid(r)}`],
  ["contentful", (r) => `CFPAT-${r.of(URL_SAFE, 43)}`],
  ["typeform", (r) => `tfp_${r.of(URL_SAFE, 44)}_${r.alnum(14)}`],
  ["tailscale", (r) => `tskey-${r.pick(["auth", "api"])}-k${r.alnum(15)}CNTRL-${r.alnum(32)}`],
  ["prefect", (r) => `pnu_${r.alnum(36)}`],
  ["vercel", (r) => `vercel_blob_rw_${r.alnum(16)}_${r.alnum(30)}`],
  ["netlify", (r) => `nfp_${r.alnum(36)}`],
  ["facebook", (r) => `EAA${r.alnum(160)}`],
  ["plaid", (r) => `access-production-${uuid(r)}`],
  ["adobe", (r) => `p8e-${r.alnum(32).toLowerCase()}`],
  ["1password", (r) => `ops_eyJ${r.base64(240).replaceAll("=", "")}`],
  ["scalingo", (r) => `tk-us-${r.of(URL_SAFE, 48)}`],
  ["easypost", (r) => `EZAK${r.alnum(54)}`],
  ["frame.io", (r) => `fio-u-${r.of(URL_SAFE, 64)}`],
  ["clojars", (r) => `CLOJARS_${r.hex(60)}`],
  ["sonarqube", (r) => r.pick(["squ_", "sqp_", "sqa_"]) + r.hex(40)],
  ["readme", (r) => `rdme_${r.hex(70)}`],
  ["shippo", (r) => `shippo_live_${r.hex(40)}`],
  ["infracost", (r) => `ico-${r.alnum(32)}`],
  ["alibaba", (r) => `LTAI${r.alnum(20)}`],
  ["tencent", (r) => `AKID${r.alnum(32)}`],
  ["yandex", (r) => r.pick([`AQVN${r.of(URL_SAFE, 36)}`, `t1.9euel${r.of(URL_SAFE, 60)}.${r.of(URL_SAFE, 86)}`])],
];

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const URL_SAFE = `${LETTERS}0123456789-_`;
const BASE64 = `${LETTERS}0123456789+/`;
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const UPPER_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

export const uuid = (/** @type {Random} */ r) => [8, 4, 4, 4, 12].map((n) => r.hex(n)).join("-");

export function jwt(/** @type {Random} */ r) {
  const part = (/** @type {object} */ object) => Buffer.from(JSON.stringify(object)).toString("base64url");
  const header = part({ alg: r.pick(["HS256", "RS256", "ES256"]), typ: "JWT" });
  return `${header}.${part({ sub: r.digits(10), iat: r.int(1.6e9, 1.8e9), jti: r.alnum(8) })}.${r.base64url(r.pick([32, 64, 256]))}`;
}

/** A private key in PEM, with line breaks as in files, in JSON, or in variables. */
export function privateKey(/** @type {Random} */ r) {
  const kind = r.pick(["RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED ", "DSA "]);
  const end = r.pick(["\n", "\\n", "\r\n", "\\r\\n", "\\\\n", " "]);
  const lines = Array.from({ length: r.int(4, 26) }, () => r.base64(48));
  return [
    `-----BEGIN ${kind}PRIVATE KEY-----`,
    ...lines,
    r.base64(r.int(10, 40)),
    `-----END ${kind}PRIVATE KEY-----`,
  ].join(end);
}
