import {
  ALNUM,
  BASE64URL,
  HEX,
  LOWER,
  PARAMETER_HASH,
  PASSWORD_HASH,
  SECRET,
  TOKEN,
  UPPER,
} from "../text/characters.js";

/** The prefix of a vendor's keys, and the minimum length and the characters of the rest. */
export interface KeyPrefix {
  readonly prefix: string;
  readonly minLength: number;
  readonly bits: number;
  /** True if the prefix is no ordinary word, so that the rest need not contain digits. */
  readonly isUnique: boolean;
  /** Text between the prefix and the key itself. Only the key is redacted. */
  readonly tail: string;
  /** True if the rest is a UUID. */
  readonly isUuid: boolean;
}

const keys = (prefixes: string, minLength: number, bits: number, isUnique = true): readonly KeyPrefix[] =>
  prefixes.split(" ").map((prefix) => ({ prefix, minLength, bits, isUnique, tail: "", isUuid: false }));
export const UUID_LENGTH = 36;
const uuids = (prefixes: string) =>
  keys(prefixes, UUID_LENGTH, BASE64URL, false).map((one) => ({ ...one, isUuid: true }));
/** Secrets in the path of a URL, which may be written with `%2F`. */
const path = (prefix: string, tail: string, minLength: number): readonly KeyPrefix[] =>
  [tail, tail.replaceAll("/", "%2F")].map((one) => ({
    prefix,
    minLength,
    bits: SECRET,
    isUnique: true,
    tail: one,
    isUuid: false,
  }));

/** Keys whose prefix ends with `_`, `-`, `.`, `~` or `$`, the anchors of the scan. */
export const KEY_PREFIXES: readonly KeyPrefix[] = [
  ...keys("sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_", 10, ALNUM),
  ...keys("whsec_", 20, TOKEN),
  ...keys("ghp_ gho_ ghu_ ghs_ ghr_", 30, ALNUM),
  ...keys("github_pat_", 22, BASE64URL),
  ...keys("glpat- gldt- glrt- glcbt- glptt- glft- glsoat- gloas- glimt- glagent- glffct- glwt-", 18, BASE64URL),
  ...keys("xoxb- xoxp- xoxa- xoxr- xoxs- xoxc- xoxd- xapp- xoxe- xoxe.", 10, TOKEN),
  ...keys("npm_", 30, ALNUM),
  ...keys("pypi-", 16, BASE64URL),
  ...keys("rubygems_", 40, HEX),
  ...keys("dop_v1_ doo_v1_ dor_v1_", 40, HEX),
  ...keys("dckr_pat_ dckr_oat_", 20, BASE64URL),
  ...keys("shpat_ shpss_ shpca_ shppa_ shptka_", 32, HEX),
  ...keys("hf_ api_org_", 30, ALNUM),
  ...keys("sk-", 20, BASE64URL, false),
  ...keys("sk-ant- sk-proj- sk-svcacct- sk-or- sk-admin- sk-lf-", 20, BASE64URL),
  ...keys("r8_ gsk_", 30, ALNUM),
  ...keys("xai- pplx-", 40, ALNUM),
  ...keys("lsv2_pt_ lsv2_sk_ pcsk_", 30, BASE64URL),
  ...keys("sq0atp- sq0csp- sq0idp-", 22, BASE64URL),
  ...keys("key-", 32, HEX, false),
  ...keys("xkeysib- xsmtpsib-", 40, BASE64URL),
  ...keys("lin_api_ lin_oauth_", 32, ALNUM),
  ...keys("secret_", 40, ALNUM, false),
  ...keys("ntn_", 40, ALNUM),
  ...keys("hvs. hvb. hvr.", 24, BASE64URL),
  ...keys("dp.pt. dp.ct. dp.sa. dp.scim. dp.audit.", 30, ALNUM),
  ...keys("dp.st.", 30, TOKEN),
  ...keys("ddapp_ ddp_ ddpat_", 30, ALNUM),
  ...keys("NRAK- NRII- NRIQ- NRRA- NRBR- NRJS- NRSP-", 16, BASE64URL),
  ...keys("HRKU-", 30, BASE64URL),
  ...keys("sntrys_ sntryu_ sntrya_", 32, TOKEN),
  ...keys("glsa_", 30, BASE64URL),
  ...keys("glc_", 40, TOKEN),
  ...keys("sbp_ sb_secret_", 20, BASE64URL),
  ...keys("v1.0-", 100, BASE64URL),
  ...keys("fm2_ fo1_", 40, TOKEN),
  ...keys("PMAK-", 40, BASE64URL),
  ...keys("AGE-SECRET-KEY-", 50, UPPER | 1),
  ...keys("figd_ figo_", 30, BASE64URL),
  ...keys("pscale_tkn_ pscale_pw_ pscale_oauth_", 30, TOKEN),
  ...keys("pul-", 40, HEX),
  ...keys("dt0c01. dt0s01. dt0s02.", 40, TOKEN),
  ...keys("hcaik_ hcbik_ hcaic_ hcalk_ hcxik_", 40, ALNUM),
  ...keys("CFPAT-", 30, BASE64URL),
  ...keys("tfp_", 40, BASE64URL),
  ...keys("tskey-", 20, BASE64URL, false),
  ...keys("pnu_ pnb_", 30, ALNUM),
  ...keys("vercel_blob_rw_", 30, BASE64URL),
  ...keys("nfp_ nfc_ nfo_ nfb_ nfu_", 36, ALNUM),
  ...uuids("access-production- access-sandbox- access-development- sdk- api- mob-"),
  ...keys("p8e- p8-", 30, ALNUM),
  ...keys("ops_", 100, TOKEN),
  ...keys("tk-us-", 40, BASE64URL),
  ...keys("fio-u-", 50, BASE64URL),
  ...keys("CLOJARS_", 50, ALNUM),
  ...keys("squ_ sqp_ sqa_", 40, HEX),
  ...keys("rdme_", 60, HEX),
  ...keys("shippo_live_ shippo_test_", 40, HEX),
  ...keys("ico-", 32, ALNUM, false),
  ...keys("SG.", 40, TOKEN),
  ...keys("ya29.", 20, BASE64URL),
  ...keys("GOCSPX-", 20, BASE64URL),
  ...keys("sgp_ tgp_v1_ e2b_ nvapi- phc_ phx_", 30, BASE64URL, false),
  ...keys("access_token$production$ access_token$sandbox$", 30, SECRET),
  ...keys("AIza", 35, BASE64URL),
  ...keys("sk. tk.", 60, TOKEN, false),
  ...keys("sk_ pat_ tok_ priv_", 24, BASE64URL, false),
  ...keys("re_", 30, BASE64URL, false),
  ...keys("rnd_ vcp_ vck_ vca_ vci_ vcr_ expo_ napi_", 24, BASE64URL, false),
  ...keys("bkua_ bkaj_ bkpi_", 36, HEX),
  ...keys("CCIPAT_ CCIPRJ_", 20, BASE64URL),
  ...keys("snyk_uat. snyk_sat.", 30, TOKEN),
  ...keys("pat-na1- pat-eu1- pat-ap1-", 30, BASE64URL),
  ...keys("sl.", 60, BASE64URL),
  ...keys(
    "sk_prod_ sk_staging_ sk_dev_ ak_live_ ak_test_ ak_prod_ mk_live_ key_live_ key_test_ api_live_ api_test_",
    16,
    BASE64URL,
  ),
  ...keys("live_ test_ prod_", 30, ALNUM, false),
  ...keys("apify_api_ apikey_ api_key_ api-key- apikey-", 20, BASE64URL, false),
  ...keys("sk-ssf- sk-live- sk-test- sk-prod- sk-user- sk-None-", 20, BASE64URL),
  ...keys("fw_ fc- jina_ esecret_ lmnr_ bb_live_ tvly- fal_ wandb_v1_ cpk_ sk_car_ sk_V2_", 24, BASE64URL, false),
  ...keys("glrtr- glcbt_ gldt_", 18, BASE64URL),
  ...keys("nrk_ nk_ nvapi-", 40, BASE64URL, false),
  ...keys("rpa_ rps_ runpod_", 30, ALNUM, false),
  ...keys("whsk_ whsec- wh_sec_", 20, TOKEN),
  ...keys("duffel_live_ duffel_test_ mollie_ live_pub_ APP_USR- TEST-", 30, BASE64URL, false),
  ...keys("rzp_live_ rzp_test_ FLWSECK- FLWSECK_TEST- FLWPUBK_TEST-", 12, BASE64URL),
  ...keys("amzn.mws. amzn1.application-oa2-client.", 30, TOKEN),
  ...keys("cfat_ cfut_ cfk_", 40, BASE64URL, false),
  ...keys("tvs_", 60, BASE64URL),
  ...keys("lob_live_ live_pub_ sendbird_ sib-", 30, BASE64URL, false),
  ...keys("xoxe-1- xoxe.xoxp- xwfp-", 20, TOKEN),
  ...keys("oauth2v2_ shpitk_ shpua_ shpsa_", 32, HEX),
  ...keys("sqpat_ sonar_", 30, ALNUM, false),
  ...keys("zpka_ zpct_ hapikey_ hapi_", 30, BASE64URL, false),
  ...keys("aio_ ask_ mx_ lip_ ubi_ cal_live_ inngest_ signkey-prod- signkey-test- signkey-", 28, BASE64URL, false),
  ...keys("ory_at_ ory_rt_ ory_ac_ ory_pat_", 30, BASE64URL),
  ...path("hooks.zapier.", "com/hooks/catch/", 8),
  ...path("webhook.office.", "com/webhookb2/", 40),
  ...path("logic.azure.", "com/workflows/", 20),
  ...path("hook.eu1.make.", "com/", 20),
  ...path("hook.us1.make.", "com/", 20),
  ...path("maker.ifttt.", "com/trigger/", 20),
  ...path("api.telegram.", "org/bot", 40),
  ...path("events.pagerduty.", "com/integration/", 30),
  ...path("chat.googleapis.", "com/v1/spaces/", 40),
  ...path("hooks.slack.", "com/services/", 20),
  ...path("hooks.slack.", "com/workflows/", 20),
  ...path("hooks.slack.", "com/triggers/", 20),
  ...path("discord.", "com/api/webhooks/", 40),
  ...path("discordapp.", "com/api/webhooks/", 40),
  ...path("office.", "com/webhook/", 40),
  ...keys("t1.", 80, TOKEN),
  // Hashes of passwords, as crypt(3), LDAP, Django, PostgreSQL and routers write them.
  ...keys("$2a$ $2b$ $2x$ $2y$ $5$ $6$ $7$ $y$ $gy$ $8$ $9$", 40, PASSWORD_HASH),
  ...keys("$1$ $apr1$ $md5$ $sha1$ $P$ $H$ $S$ $s0$ md5$ sha1$", 22, PASSWORD_HASH),
  ...keys("$argon2id$ $argon2i$ $argon2d$ argon2$ $scrypt$ scrypt$ $bcrypt-sha256$", 40, PARAMETER_HASH),
  ...keys("$pbkdf2$ $pbkdf2-sha1$ $pbkdf2-sha256$ $pbkdf2-sha512$", 40, PASSWORD_HASH),
  ...keys("pbkdf2_sha1$ pbkdf2_sha256$ pbkdf2_sha512$ bcrypt$ bcrypt_sha256$", 40, PASSWORD_HASH),
  ...keys("SCRAM-SHA-1$ SCRAM-SHA-256$ SCRAM-SHA-512$", 60, SECRET),
];

/** Keys that are one word, recognised by their beginning, their length and their characters. */
export interface KeyShape {
  readonly prefix: string;
  readonly minLength: number;
  readonly most: number;
  readonly bits: number;
  /** True if the key must have capital and small letters, because other texts begin like it. */
  readonly isMixed: boolean;
}

const shape = (prefix: string, minLength: number, most: number, bits: number, isMixed = false): KeyShape => ({
  prefix,
  minLength,
  most,
  bits,
  isMixed,
});

/** Shapes that are searched in long words with digits. */
export const KEY_SHAPES: readonly KeyShape[] = [
  shape("SK", 34, 34, HEX),
  shape("AC", 34, 34, HEX),
  shape("dapi", 36, 40, BASE64URL),
  shape("cio", 35, 35, ALNUM),
  shape("oy2", 46, 46, LOWER | 1),
  shape("LTAI", 16, 30, ALNUM),
  shape("AKID", 36, 36, ALNUM),
  shape("ABSK", 80, 400, TOKEN),
  shape("EAAA", 50, 100, BASE64URL),
  shape("EAA", 80, 400, ALNUM),
  shape("EZAK", 58, 58, ALNUM),
  shape("EZTK", 58, 58, ALNUM),
  shape("ATBB", 30, 40, ALNUM),
  shape("ATATT3x", 60, 400, TOKEN),
  shape("ATCTT3x", 60, 400, TOKEN),
  shape("AQVN", 36, 44, BASE64URL),
  shape("00", 42, 42, BASE64URL, true),
  shape("AKC", 60, 80, ALNUM),
  shape("ATTA", 64, 90, ALNUM),
  shape("IGQ", 80, 300, BASE64URL),
  shape("dG9rO", 40, 120, TOKEN),
  shape("cflt", 55, 70, TOKEN),
];
