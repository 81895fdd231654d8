/**
 * Grok patterns for firewalls: Cisco's ASA, NetScreen, Junos, iptables and systems built on it. Written for this
 * project from the formats of the messages; the names of patterns and fields are the customary ones.
 */

const addressed = (side: "source" | "destination") => `%{IP:${side}.address}/%{INT:${side}.port:int}`;
const FROM_TO = `from ${addressed("source")} to ${addressed("destination")}`;
const ON_EGRESS = "on interface %{NOTSPACE:observer.egress.interface.name}";
const TRANSPORT = "%{WORD:cisco.asa.network.transport}";
const OUTCOME = "%{CISCO_ACTION:cisco.asa.outcome}";
const DIRECTION = "%{CISCO_DIRECTION:cisco.asa.network.direction}";
const UNIT = "\\((?:Primary|Secondary)\\)";
const ICMP = "\\(type %{INT:cisco.asa.icmp_type:int}, code %{INT:cisco.asa.icmp_code:int}\\)";
const userOf = (field: string) => `(?: ?\\(%{DATA:${field}}\\))?`;
const through = (side: "ingress" | "egress", end: "source" | "destination") =>
  `%{DATA:observer.${side}.interface.name}:${addressed(end)}`;
const listed = (side: "ingress" | "egress", end: "source" | "destination") =>
  `%{DATA:observer.${side}.interface.name}/%{IP:${end}.address}\\(%{INT:${end}.port:int}\\)`;
const HASHES = "\\[%{DATA:metadata.cisco.asa.hashcode1}, %{DATA:metadata.cisco.asa.hashcode2}\\]";
const PAYLOAD = "cisco.asa.original_ip_payload";

const CISCO_PARTS: Readonly<Record<string, string>> = {
  CISCOTIMESTAMP: "%{MONTH} +%{MONTHDAY}(?: %{YEAR})? %{TIME}",
  CISCOTAG: "[A-Z0-9]+-%{INT}-(?:[A-Z0-9_]+)",
  CISCO_TAGGED_SYSLOG:
    "^<%{POSINT:log.syslog.priority:int}>%{CISCOTIMESTAMP:timestamp}(?: %{SYSLOGHOST:host.name})? ?: %%{CISCOTAG:cisco.asa.tag}:",
  CISCO_ACTION:
    "Built|Teardown|Deny|Denied|denied|requested|permitted|denied by ACL|discarded|est-allowed|Dropping|created|deleted",
  CISCO_REASON: "[\\w-]+(?: [\\w-]+)*",
  CISCO_DIRECTION: "[Ii]nbound|[Oo]utbound",
  CISCO_INTERVAL: "first hit|%{INT}-second interval",
  CISCO_XLATE_TYPE: "static|dynamic",
  CISCO_HITCOUNT_INTERVAL:
    "hit-cnt %{INT:cisco.asa.hit_count:int} (?:first hit|%{INT:cisco.asa.interval:int}-second interval)",
  CISCO_SRC_IP_USER: `%{NOTSPACE:observer.ingress.interface.name}:%{IP:source.address}${userOf("source.user.name")}`,
  CISCO_DST_IP_USER: `%{NOTSPACE:observer.egress.interface.name}:%{IP:destination.address}${userOf("destination.user.name")}`,
  CISCO_SRC_HOST_PORT_USER: `%{NOTSPACE:observer.ingress.interface.name}:(?:%{IP:source.address}|%{HOSTNAME:source.address})(?:/%{INT:source.port:int})?${userOf("source.user.name")}`,
  CISCO_DST_HOST_PORT_USER: `%{NOTSPACE:observer.egress.interface.name}:(?:%{IP:destination.address}|%{HOSTNAME:destination.address})(?:/%{INT:destination.port:int})?${userOf("destination.user.name")}`,
};

const CISCO_MESSAGES: Readonly<Record<string, string>> = {
  CISCOFW104001: `${UNIT} Switching to ACTIVE - %{GREEDYDATA:event.reason}`,
  CISCOFW104002: `${UNIT} Switching to STANDBY - %{GREEDYDATA:event.reason}`,
  CISCOFW104003: `${UNIT} Switching to FAILED\\.`,
  CISCOFW104004: `${UNIT} Switching to OK\\.`,
  CISCOFW105003: `${UNIT} Monitoring on [Ii]nterface %{NOTSPACE:network.interface.name} waiting`,
  CISCOFW105004: `${UNIT} Monitoring on [Ii]nterface %{NOTSPACE:network.interface.name} normal`,
  CISCOFW105005: `${UNIT} Lost Failover communications with mate on [Ii]nterface %{NOTSPACE:network.interface.name}`,
  CISCOFW105008: `${UNIT} Testing [Ii]nterface %{NOTSPACE:network.interface.name}`,
  CISCOFW105009: `${UNIT} Testing on [Ii]nterface %{NOTSPACE:network.interface.name} (?:Passed|Failed)`,
  CISCOFW106001: `${DIRECTION} ${TRANSPORT} connection ${OUTCOME} ${FROM_TO} flags %{DATA:cisco.asa.tcp_flags} ${ON_EGRESS}`,
  CISCOFW106006_106007_106010: `${OUTCOME} ${DIRECTION} ${TRANSPORT} (?:from|src) %{IP:source.address}/%{INT:source.port:int}${userOf("source.user.name")} (?:to|dst) %{IP:destination.address}/%{INT:destination.port:int}${userOf("destination.user.name")} (?:${ON_EGRESS}|due to %{CISCO_REASON:event.reason})`,
  CISCOFW106014: `${OUTCOME} ${DIRECTION} ${TRANSPORT} src %{CISCO_SRC_IP_USER} dst %{CISCO_DST_IP_USER} ${ICMP}`,
  CISCOFW106015: `${OUTCOME} ${TRANSPORT} \\(%{DATA:cisco.asa.rule_name}\\) ${FROM_TO} flags %{DATA:cisco.asa.tcp_flags} {1,2}${ON_EGRESS}`,
  CISCOFW106021: `${OUTCOME} ${TRANSPORT} reverse path check from %{IP:source.address} to %{IP:destination.address} ${ON_EGRESS}`,
  CISCOFW106023:
    '%{CISCO_ACTION:action}(?: protocol)? %{WORD:network.protocol.name} src %{DATA:source.interface}:%{DATA:source.address}(?:/%{INT:source.port})?(?:\\(%{DATA:source.fwuser}\\))? dst %{DATA:destination.interface}:%{DATA:destination.address}(?:/%{INT:destination.port})?(?:\\(%{DATA:destination.fwuser}\\))?(?: \\(type %{INT:icmp_type}, code %{INT:icmp_code}\\))? by access-group "?%{DATA:policy_id}"? \\[%{DATA:hashcode1}, %{DATA:hashcode2}\\]',
  CISCOFW106100_2_3: `access-list %{NOTSPACE:cisco.asa.rule_name} ${OUTCOME} ${TRANSPORT} for user '%{DATA:user.name}' ${listed("ingress", "source")} -> ${listed("egress", "destination")} %{CISCO_HITCOUNT_INTERVAL} ${HASHES}`,
  CISCOFW106100: `access-list %{NOTSPACE:cisco.asa.rule_name} ${OUTCOME} ${TRANSPORT} ${listed("ingress", "source")}(?:\\(%{DATA:source.user.name}\\))? -> ${listed("egress", "destination")}(?:\\(%{DATA:source.user.name}\\))? hit-cnt %{INT:cisco.asa.hit_count:int} %{CISCO_INTERVAL} ${HASHES}`,
  CISCOFW304001: `%{IP:source.address}${userOf("source.user.name")} Accessed URL %{IP:destination.address}:%{GREEDYDATA:url.original}`,
  CISCOFW110002: `%{CISCO_REASON:event.reason} for ${TRANSPORT} from ${through("ingress", "source")} to ${addressed("destination")}`,
  CISCOFW302010: "%{INT:cisco.asa.connections.in_use:int} in use, %{INT:cisco.asa.connections.most_used:int} most used",
  CISCOFW302013_302014_302015_302016: `${OUTCOME}(?: ${DIRECTION})? ${TRANSPORT} connection %{INT:cisco.asa.connection_id} for %{NOTSPACE:observer.ingress.interface.name}:${addressed("source")}(?: \\(%{IP:source.nat.ip}/%{INT:source.nat.port:int}\\))?(?:\\(%{DATA:source.user.name}\\))? to %{NOTSPACE:observer.egress.interface.name}:${addressed("destination")}(?: \\(%{IP:destination.nat.ip}/%{INT:destination.nat.port:int}\\))?(?:\\(%{DATA:destination.user.name}\\))?(?: duration %{TIME:cisco.asa.duration} bytes %{INT:network.bytes:long})?(?: %{CISCO_REASON:event.reason})?(?: \\(%{DATA:user.name}\\))?`,
  CISCOFW302020_302021: `${OUTCOME}(?: ${DIRECTION})? ${TRANSPORT} connection for faddr %{IP:destination.address}/%{INT:cisco.asa.icmp_seq:int}${userOf("destination.user.name")} gaddr %{IP:source.nat.ip}/%{INT:cisco.asa.icmp_type:int} laddr %{IP:source.address}/%{INT}${userOf("source.user.name")}`,
  CISCOFW305011: `${OUTCOME} %{CISCO_XLATE_TYPE} ${TRANSPORT} translation from ${through("ingress", "source")}${userOf("source.user.name")} to ${through("egress", "destination")}`,
  CISCOFW313001_313004_313008: `${OUTCOME} ${TRANSPORT} type=%{INT:cisco.asa.icmp_type:int}, code=%{INT:cisco.asa.icmp_code:int} from %{IP:source.address} ${ON_EGRESS}(?: to %{IP:destination.address})?`,
  CISCOFW313005: `%{CISCO_REASON:event.reason} for ${TRANSPORT} error message: %{WORD} src %{CISCO_SRC_IP_USER} dst %{CISCO_DST_IP_USER} ${ICMP} on %{NOTSPACE} interface\\. +Original IP payload: %{WORD:${PAYLOAD}.network.transport} src %{IP:${PAYLOAD}.source.address}/%{INT:${PAYLOAD}.source.port:int}${userOf(`${PAYLOAD}.source.user.name`)} dst %{IP:${PAYLOAD}.destination.address}/%{INT:${PAYLOAD}.destination.port:int}${userOf(`${PAYLOAD}.destination.user.name`)}`,
  CISCOFW321001:
    "Resource '%{DATA:cisco.asa.resource.name}' limit of %{POSINT:cisco.asa.resource.limit:int} reached for system",
  CISCOFW402117: `%{WORD:cisco.asa.network.type}: Received a non-IPSec packet \\(protocol= ?${TRANSPORT}\\) from %{IP:source.address} to %{IP:destination.address}\\.?`,
  CISCOFW402119: `%{WORD:cisco.asa.network.type}: Received an %{WORD:cisco.asa.ipsec.protocol} packet \\(SPI= ?%{DATA:cisco.asa.ipsec.spi}, sequence number= ?%{DATA:cisco.asa.ipsec.seq_num}\\) from %{IP:source.address} \\(user= ?%{DATA:source.user.name}\\) to %{IP:destination.address} that failed anti-replay checking\\.?`,
  CISCOFW419001: `${OUTCOME} ${TRANSPORT} packet from %{NOTSPACE:observer.ingress.interface.name}:${addressed("source")} to %{NOTSPACE:observer.egress.interface.name}:${addressed("destination")}, reason: %{GREEDYDATA:event.reason}`,
  CISCOFW419002: `%{CISCO_REASON:event.reason} from ${through("ingress", "source")} to ${through("egress", "destination")} with different initial sequence number`,
  CISCOFW500004: `%{CISCO_REASON:event.reason} for protocol=${TRANSPORT}, ${FROM_TO}`,
  CISCOFW602303_602304: `%{WORD:cisco.asa.network.type}: An ${DIRECTION} %{DATA:cisco.asa.ipsec.tunnel_type} SA \\(SPI= ?%{DATA:cisco.asa.ipsec.spi}\\) between %{IP:source.address} and %{IP:destination.address} \\(user= ?%{DATA:source.user.name}\\) has been ${OUTCOME}`,
  CISCOFW710001_710002_710003_710005_710006: `${TRANSPORT} (?:request|access) ${OUTCOME} from ${addressed("source")} to ${through("egress", "destination")}`,
  CISCOFW713172:
    "Group = %{DATA:cisco.asa.source.group}, IP = %{IP:source.address}, Automatic NAT Detection Status:\\s+Remote end\\s*%{DATA:metadata.cisco.asa.remote_nat}\\s*behind a NAT device\\s+This\\s+end\\s*%{DATA:metadata.cisco.asa.local_nat}\\s*behind a NAT device",
  CISCOFW733100:
    "\\[\\s*%{DATA:cisco.asa.burst.object}\\s*\\] drop %{DATA:cisco.asa.burst.id} exceeded\\. Current burst rate is %{INT:cisco.asa.burst.current_rate:int} per second, max configured rate is %{INT:cisco.asa.burst.configured_rate:int}; Current average rate is %{INT:cisco.asa.burst.avg_rate:int} per second, max configured rate is %{INT:cisco.asa.burst.configured_avg_rate:int}; Cumulative total count is %{INT:cisco.asa.burst.cumulative_count:int}",
};

const IPTABLES: Readonly<Record<string, string>> = {
  IPTABLES_TCP_FLAGS: "(?:\\b(?:CWR|ECE|URG|ACK|PSH|RST|SYN|FIN)\\b ?)*",
  IPTABLES_TCP_PART:
    "(?:SEQ=%{INT:iptables.tcp.seq:int}\\s+)?(?:ACK=%{INT:iptables.tcp.ack:int}\\s+)?WINDOW=%{INT:iptables.tcp.window:int}\\s+RES=0x%{BASE16NUM:iptables.tcp_reserved_bits}\\s+%{IPTABLES_TCP_FLAGS:iptables.tcp.flags}",
  IPTABLES4_FRAG: "(?:(?:CE|DF|MF)(?: (?:CE|DF|MF))*)?",
  IPTABLES4_PART:
    "SRC=%{IPV4:source.address}\\s+DST=%{IPV4:destination.address}\\s+LEN=(?:%{INT:iptables.length:int})?\\s+TOS=(?:0|0x%{BASE16NUM:iptables.tos})?\\s+PREC=(?:0x%{BASE16NUM:iptables.precedence_bits})?\\s+TTL=(?:%{INT:iptables.ttl:int})?\\s+ID=(?:%{INT:iptables.id})?\\s+(?:%{IPTABLES4_FRAG:iptables.fragment_flags})?(?:\\s*FRAG:? ?%{INT:iptables.fragment_offset:int})?",
  IPTABLES6_PART:
    "SRC=%{IPV6:source.address}\\s+DST=%{IPV6:destination.address}\\s+LEN=(?:%{INT:iptables.length:int})?\\s+TC=(?:0|0x%{BASE16NUM:iptables.tos})?\\s+HOPLIMIT=(?:%{INT:iptables.ttl:int})?\\s+FLOWLBL=(?:%{INT:iptables.flow_label})?",
  IPTABLES:
    "IN=(?:%{NOTSPACE:observer.ingress.interface.name})?\\s+OUT=(?:%{NOTSPACE:observer.egress.interface.name})?\\s+(?:MAC=(?:%{COMMONMAC:destination.mac})?(?::%{COMMONMAC:source.mac})?(?::[A-Fa-f0-9]{2}:[A-Fa-f0-9]{2})?\\s+)?(?:%{IPTABLES4_PART}|%{IPTABLES6_PART}).*?PROTO=(?:%{WORD:network.transport})?\\s+SPT=(?:%{INT:source.port:int})?\\s+DPT=(?:%{INT:destination.port:int})?\\s*(?:%{IPTABLES_TCP_PART})?",
  SHOREWALL:
    "(?:%{SYSLOGTIMESTAMP:timestamp}) (?:%{WORD:observer.hostname}) .*?Shorewall:(?:%{WORD:shorewall.firewall.type})?:(?:%{WORD:shorewall.firewall.action})?.*?%{IPTABLES}",
  SFW2_LOG_PREFIX: "SFW2-INext-%{NOTSPACE:suse.firewall.action}",
  SFW2: "(?:%{SYSLOGTIMESTAMP:timestamp}|%{TIMESTAMP_ISO8601:timestamp})\\s+%{HOSTNAME:observer.hostname}.*?%{SFW2_LOG_PREFIX:suse.firewall.log_prefix}\\s+%{IPTABLES}",
};

const translated = (side: "source" | "destination") => `%{IP:${side}.nat.ip}/%{INT:${side}.nat.port:int}`;
const FLOW = `${addressed("source")}->${addressed("destination")} %{DATA:juniper.srx.service_name}`;
const TRANSLATED_FLOW = `${FLOW} ${translated("source")}->${translated("destination")} (?:(?:None|N/A|%{DATA:juniper.srx.src_nat_rule_name})) (?:(?:None|N/A|%{DATA:juniper.srx.dst_nat_rule_name})) %{INT:network.iana_number}`;
const RULE = "%{DATA:rule.name} %{DATA:observer.ingress.zone} %{DATA:observer.egress.zone}";

const SESSIONS: Readonly<Record<string, string>> = {
  NETSCREENSESSIONLOG:
    '%{SYSLOGTIMESTAMP:timestamp} %{IPORHOST:observer.hostname} %{NOTSPACE:observer.name}: (?P<observer.product>NetScreen) device_id=%{WORD:netscreen.device_id} .*?system-\\w+-%{NONNEGINT:event.code}(?:\\(%{WORD:netscreen.session.type}\\))?: start_time="%{DATA:netscreen.session.start_time}" duration=%{INT:netscreen.session.duration:int} policy_id=%{INT:netscreen.policy_id} service=%{DATA:netscreen.service} proto=%{INT:netscreen.protocol_number:int} src zone=%{WORD:observer.ingress.zone} dst zone=%{WORD:observer.egress.zone} action=%{WORD:event.action} sent=%{INT:source.bytes:long} rcvd=%{INT:destination.bytes:long} src=%{IPORHOST:source.address} dst=%{IPORHOST:destination.address}(?: src_port=%{INT:source.port:int} dst_port=%{INT:destination.port:int})?(?: src-xlated ip=%{IP:source.nat.ip} port=%{INT:source.nat.port:int} dst-xlated ip=%{IP:destination.nat.ip} port=%{INT:destination.nat.port:int})?(?: session_id=%{INT:netscreen.session.id} reason=%{GREEDYDATA:netscreen.session.reason})?',
  RT_FLOW_TAG: "RT_FLOW_SESSION_(?:CREATE|CLOSE|DENY)",
  RT_FLOW_EVENT: "%{RT_FLOW_TAG}",
  RT_FLOW1: `%{RT_FLOW_TAG:juniper.srx.tag}: %{GREEDYDATA:juniper.srx.reason}: ${TRANSLATED_FLOW} ${RULE} %{INT:juniper.srx.session_id} \\d+\\(%{INT:source.bytes:long}\\) \\d+\\(%{INT:destination.bytes:long}\\) %{INT:juniper.srx.elapsed_time:int} .*`,
  RT_FLOW2: `%{RT_FLOW_TAG:juniper.srx.tag}: session created ${TRANSLATED_FLOW} ${RULE} %{INT:juniper.srx.session_id} .*`,
  RT_FLOW3: `%{RT_FLOW_TAG:juniper.srx.tag}: session denied ${FLOW} %{INT:network.iana_number}\\(\\d\\) ${RULE} .*`,
};

export const GROK_FIREWALL_PATTERNS: Readonly<Record<string, string>> = {
  ...CISCO_PARTS,
  ...CISCO_MESSAGES,
  ...IPTABLES,
  ...SESSIONS,
};
