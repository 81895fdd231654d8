/**
 * Grok patterns for other services: AWS, BIND, Zeek, Exim and Rails. Written for this project from the formats of the
 * lines; the names of patterns and fields are the customary ones.
 */

/** A column that may be empty, which is written as a dash. */
const orDash = (column: string) => `(?:-|${column})`;
const TAB = "\\t";
const columns = (...all: readonly string[]) => all.join(TAB);

const AWS: Readonly<Record<string, string>> = {
  S3_REQUEST_LINE: "%{WORD:http.request.method} %{NOTSPACE:url.original}(?: HTTP/%{NUMBER:http.version})?",
  S3_ACCESS_LOG: [
    "%{WORD:aws.s3access.bucket_owner} %{NOTSPACE:aws.s3access.bucket} \\[%{HTTPDATE:timestamp}\\]",
    orDash("%{IP:client.address}"),
    orDash("%{NOTSPACE:client.user.id}"),
    "%{NOTSPACE:aws.s3access.request_id} %{NOTSPACE:aws.s3access.operation}",
    orDash("%{NOTSPACE:aws.s3access.key}"),
    '(?:"%{S3_REQUEST_LINE:aws.s3access.request_uri}"|-)',
    orDash("%{INT:http.response.status_code:int}"),
    orDash("%{NOTSPACE:aws.s3access.error_code}"),
    orDash("%{INT:aws.s3access.bytes_sent:long}"),
    orDash("%{INT:aws.s3access.object_size:long}"),
    orDash("%{INT:aws.s3access.total_time:int}"),
    orDash("%{INT:aws.s3access.turn_around_time:int}"),
    '"(?:-|%{DATA:http.request.referrer})" "(?:-|%{DATA:user_agent.original})"',
    orDash("%{NOTSPACE:aws.s3access.version_id}") +
      "(?: (?:-|%{NOTSPACE:aws.s3access.host_id}) (?:-|%{NOTSPACE:aws.s3access.signature_version}) (?:-|%{NOTSPACE:tls.cipher}) (?:-|%{NOTSPACE:aws.s3access.authentication_type}) (?:-|%{NOTSPACE:aws.s3access.host_header}) (?:-|%{NOTSPACE:aws.s3access.tls_version}))?",
  ].join(" "),
  ELB_V1_HTTP_LOG: [
    "%{TIMESTAMP_ISO8601:timestamp} %{NOTSPACE:aws.elb.name} %{IP:source.address}:%{INT:source.port:int}",
    "(?:-|%{IP:aws.elb.backend.ip}:%{INT:aws.elb.backend.port:int})",
    "(?:-1|%{NUMBER:aws.elb.request_processing_time.sec:float})",
    "(?:-1|%{NUMBER:aws.elb.backend_processing_time.sec:float})",
    "(?:-1|%{NUMBER:aws.elb.response_processing_time.sec:float})",
    "%{INT:http.response.status_code:int}",
    orDash("%{INT:aws.elb.backend.http.response.status_code:int}"),
    "%{INT:http.request.body.size:long} %{INT:http.response.body.size:long}",
    '"%{ELB_REQUEST_LINE}"(?: "(?:-|%{DATA:user_agent.original})" (?:-|%{NOTSPACE:tls.cipher}) (?:-|%{NOTSPACE:aws.elb.ssl_protocol}))?',
  ].join(" "),
  ELB_ACCESS_LOG: "%{ELB_V1_HTTP_LOG}",
  CLOUDFRONT_ACCESS_LOG: columns(
    `(?P<timestamp>%{YEAR}-%{MONTHNUM}-%{MONTHDAY}${TAB}%{TIME})`,
    "%{WORD:aws.cloudfront.x_edge_location}",
    orDash("%{INT:destination.bytes:long}"),
    "%{IPORHOST:source.address}",
    "%{WORD:http.request.method}",
    "%{HOSTNAME:url.domain}",
    "%{NOTSPACE:url.path}",
    "(?:000|%{INT:http.response.status_code:int})",
    ...["DATA:http.request.referrer", "DATA:user_agent.original", "DATA:url.query"].map((column) =>
      orDash(`%{${column}}`),
    ),
    orDash("%{DATA:aws.cloudfront.http.request.cookie}"),
    "%{WORD:aws.cloudfront.x_edge_result_type}",
    "%{NOTSPACE:aws.cloudfront.x_edge_request_id}",
    "%{HOSTNAME:aws.cloudfront.http.request.host}",
    "%{URIPROTO:network.protocol.name}",
    orDash("%{INT:source.bytes:long}"),
    "%{NUMBER:aws.cloudfront.time_taken:float}",
    ...[
      "IP:network.forwarded_ip",
      "DATA:aws.cloudfront.ssl_protocol",
      "NOTSPACE:tls.cipher",
      "WORD:aws.cloudfront.x_edge_response_result_type",
    ].map((column) => orDash(`%{${column}}`)),
    "(?:-|HTTP/%{NUMBER:http.version})",
    ...[
      "DATA:aws.cloudfront.fle_status",
      "DATA:aws.cloudfront.fle_encrypted_fields",
      "INT:source.port:int",
      "NUMBER:aws.cloudfront.time_to_first_byte:float",
      "DATA:aws.cloudfront.x_edge_detailed_result_type",
      "NOTSPACE:http.request.mime_type",
      "INT:aws.cloudfront.http.request.size:long",
      "INT:aws.cloudfront.http.request.range.start:long",
      "INT:aws.cloudfront.http.request.range.end:long",
    ].map((column) => orDash(`%{${column}}`)),
  ),
};

const BIND: Readonly<Record<string, string>> = {
  BIND9_TIMESTAMP: "%{MONTHDAY}[-]%{MONTH}[-]%{YEAR} %{TIME}",
  BIND9_DNSTYPE:
    "A|AAAA|CAA|CDNSKEY|CDS|CERT|CNAME|CSYNC|DLV|DNAME|DNSKEY|DS|HINFO|LOC|MX|NAPTR|NS|NSEC|NSEC3|OPENPGPKEY|PTR|RRSIG|RP|SIG|SMIMEA|SOA|SRV|TSIG|TXT|URI",
  BIND9_CATEGORY: "queries",
  BIND9_QUERYLOGBASE:
    "client(?: @0x[0-9A-Fa-f]+)? %{IP:client.address}#%{POSINT:client.port:int} \\(%{GREEDYDATA:bind.log.question.name}\\): query: %{GREEDYDATA:dns.question.name} (?P<dns.question.class>IN) %{BIND9_DNSTYPE:dns.question.type}(?: %{DATA:bind.log.question.flags})? \\(%{IP:server.address}\\)",
  // The customary name of the category's field has this spelling.
  BIND9_QUERYLOG:
    "%{BIND9_TIMESTAMP:timestamp} %{BIND9_CATEGORY:bing.log.category}: %{LOGLEVEL:log.level}: %{BIND9_QUERYLOGBASE}",
  BIND9: "%{BIND9_QUERYLOG}",
};

const zeek = (...fields: readonly string[]) => fields.map((field) => orDash(`%{${field}}`));
const ZEEK_FLOW = [
  "%{NUMBER:timestamp}",
  "%{NOTSPACE:zeek.session_id}",
  "%{IP:source.address}",
  "%{INT:source.port:int}",
  "%{IP:destination.address}",
  "%{INT:destination.port:int}",
];

const ZEEK: Readonly<Record<string, string>> = {
  BRO_BOOL: "[TF]",
  BRO_DATA: "[^\\t]+",
  BRO_HTTP: columns(
    ...ZEEK_FLOW,
    "%{INT:zeek.http.trans_depth:int}",
    ...zeek(
      "WORD:http.request.method",
      "BRO_DATA:url.domain",
      "BRO_DATA:url.original",
      "BRO_DATA:http.request.referrer",
      "BRO_DATA:user_agent.original",
      "NUMBER:http.request.body.size:long",
      "NUMBER:http.response.body.size:long",
      "POSINT:http.response.status_code:int",
      "DATA:zeek.http.status_msg",
      "POSINT:zeek.http.info_code:int",
      "DATA:zeek.http.info_msg",
      "BRO_DATA:zeek.http.filename",
    ),
    "(?:\\(empty\\)|%{BRO_DATA:zeek.http.tags})",
    ...zeek(
      "BRO_DATA:url.username",
      "BRO_DATA:url.password",
      "BRO_DATA:zeek.http.proxied",
      "BRO_DATA:zeek.http.orig_fuids",
      "BRO_DATA:http.request.mime_type",
      "BRO_DATA:zeek.http.resp_fuids",
      "BRO_DATA:http.response.mime_type",
    ),
  ),
  BRO_DNS: columns(
    ...ZEEK_FLOW,
    "%{WORD:network.transport}",
    ...zeek(
      "INT:dns.id:int",
      "BRO_DATA:dns.question.name",
      "INT:zeek.dns.qclass:int",
      "BRO_DATA:zeek.dns.qclass_name",
      "INT:zeek.dns.qtype:int",
      "BRO_DATA:dns.question.type",
      "INT:zeek.dns.rcode:int",
      "BRO_DATA:dns.response_code",
      "BRO_BOOL:zeek.dns.AA",
      "BRO_BOOL:zeek.dns.TC",
      "BRO_BOOL:zeek.dns.RD",
      "BRO_BOOL:zeek.dns.RA",
    ),
    "%{NONNEGINT:zeek.dns.Z:int}",
    ...zeek("BRO_DATA:zeek.dns.answers", "DATA:zeek.dns.TTLs", "BRO_BOOL:zeek.dns.rejected"),
  ),
  BRO_CONN: columns(
    ...ZEEK_FLOW,
    "%{WORD:network.transport}",
    ...zeek(
      "BRO_DATA:network.protocol.name",
      "NUMBER:zeek.connection.duration:float",
      "INT:zeek.connection.orig_bytes:long",
      "INT:zeek.connection.resp_bytes:long",
      "BRO_DATA:zeek.connection.state",
      "BRO_BOOL:zeek.connection.local_orig",
      "BRO_BOOL:zeek.connection.local_resp",
      "INT:zeek.connection.missed_bytes:long",
      "BRO_DATA:zeek.connection.history",
      "INT:source.packets:long",
      "INT:source.bytes:long",
      "INT:destination.packets:long",
      "INT:destination.bytes:long",
    ),
    "(?:\\(empty\\)|%{BRO_DATA:zeek.connection.tunnel_parents})",
  ),
  BRO_FILES: columns(
    "%{NUMBER:timestamp}",
    "%{NOTSPACE:zeek.files.fuid}",
    ...zeek(
      "IP:server.address",
      "IP:client.address",
      "BRO_DATA:zeek.files.session_ids",
      "BRO_DATA:zeek.files.source",
      "INT:zeek.files.depth:int",
      "BRO_DATA:zeek.files.analyzers",
      "BRO_DATA:file.mime_type",
      "BRO_DATA:file.name",
      "NUMBER:zeek.files.duration:float",
      "BRO_DATA:zeek.files.local_orig",
      "BRO_BOOL:zeek.files.is_orig",
      "INT:zeek.files.seen_bytes:long",
      "INT:file.size:long",
      "INT:zeek.files.missing_bytes:long",
      "INT:zeek.files.overflow_bytes:long",
      "BRO_BOOL:zeek.files.timedout",
      "BRO_DATA:zeek.files.parent_fuid",
      "BRO_DATA:file.hash.md5",
      "BRO_DATA:file.hash.sha1",
      "BRO_DATA:file.hash.sha256",
      "BRO_DATA:zeek.files.extracted",
    ),
  ),
};

const EXIM: Readonly<Record<string, string>> = {
  EXIM_MSGID: "[0-9A-Za-z]{6}-[0-9A-Za-z]{6}-[0-9A-Za-z]{2}",
  EXIM_FLAGS: "<=|=>|->|\\*>|\\*\\*|==|<>|>>",
  EXIM_DATE: "%{YEAR}-%{MONTHNUM}-%{MONTHDAY} %{TIME}",
  EXIM_PID: "\\[%{POSINT:process.pid:int}\\]",
  EXIM_QT: "(?:\\d+y)?(?:\\d+w)?(?:\\d+d)?(?:\\d+h)?(?:\\d+m)?(?:\\d+s)?",
  EXIM_EXCLUDE_TERMS:
    "Message is frozen|(?:Start|End) queue run| Warning: | retry time not reached | no (?:IP address|host name) found for (?:IP address|host) | unexpected disconnection while reading SMTP command | no immediate delivery: |another process is handling this message",
  EXIM_REMOTE_HOST:
    "H=(?:%{NOTSPACE:source.host.name} )?(?:\\(%{NOTSPACE:exim.log.remote_address}\\) )?(?:\\([^)]*\\) )?\\[%{IP:source.address}\\](?::%{POSINT:source.port:int})?",
  EXIM_INTERFACE: "I=\\[%{IP:destination.address}\\](?::%{NUMBER:destination.port:int})",
  EXIM_PROTOCOL: "P=%{NOTSPACE:network.protocol.name}",
  EXIM_MSG_SIZE: "S=%{NUMBER:exim.log.message.body.size:int}",
  EXIM_HEADER_ID: "id=%{NOTSPACE:exim.log.header_id}",
  EXIM_QUOTED_CONTENT: '(?:\\\\.|[^\\\\"])*',
  EXIM_SUBJECT: 'T="%{EXIM_QUOTED_CONTENT:exim.log.message.subject}"',
  EXIM_UNKNOWN_FIELD: "(?:[A-Za-z0-9]{1,4}=(?:%{QUOTEDSTRING}|%{NOTSPACE}))",
  EXIM_NAMED_FIELDS:
    "(?: (?:%{EXIM_REMOTE_HOST}|%{EXIM_INTERFACE}|%{EXIM_PROTOCOL}|%{EXIM_MSG_SIZE}|%{EXIM_HEADER_ID}|%{EXIM_SUBJECT}|%{EXIM_UNKNOWN_FIELD}))*",
  EXIM_MESSAGE_ARRIVAL:
    "%{EXIM_DATE:timestamp} (?:%{EXIM_PID} )?%{EXIM_MSGID:exim.log.message.id} (?P<exim.log.flags><=) (?:(?P<exim.log.status>[a-z:]+) )?(?:<>|%{EMAILADDRESS:exim.log.sender.email})%{EXIM_NAMED_FIELDS}(?:(?: from <?%{DATA:exim.log.sender.original}>?)? for %{EMAILADDRESS:exim.log.recipient.email})?",
  EXIM: "%{EXIM_MESSAGE_ARRIVAL}",
};

const RAILS: Readonly<Record<string, string>> = {
  RAILS3HEAD:
    '(?m)Started %{WORD:http.request.method} "%{URIPATHPARAM:url.original}" for %{IPORHOST:source.address} at (?P<timestamp>%{YEAR}-%{MONTHNUM}-%{MONTHDAY} %{HOUR}:%{MINUTE}:%{SECOND} %{ISO8601_TIMEZONE})',
  RPROCESSING:
    "\\s*Processing by %{RCONTROLLER} as (?P<rails.request.format>\\S+)(?:\\s*Parameters: \\{%{DATA:rails.request.params}\\}\\s*)?",
  RAILS3PROFILE:
    "\\(Views: %{NUMBER:rails.request.duration.view:float}ms \\| ActiveRecord: %{NUMBER:rails.request.duration.active_record:float}ms|\\(ActiveRecord: %{NUMBER:rails.request.duration.active_record:float}ms",
  RAILS3FOOT:
    "Completed %{POSINT:http.response.status_code:int}%{DATA} in %{NUMBER:rails.request.duration.total:float}ms (?:%{RAILS3PROFILE})?%{GREEDYDATA}",
  RAILS3: "%{RAILS3HEAD}(?:%{RPROCESSING})?(?P<rails.request.explain.original>(?:%{DATA}\\n)*)(?:%{RAILS3FOOT})?",
};

export const GROK_SERVICE_PATTERNS: Readonly<Record<string, string>> = { ...AWS, ...BIND, ...ZEEK, ...EXIM, ...RAILS };
