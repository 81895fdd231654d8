import { describe, expect, it } from "vitest";
import { grokPattern } from "../../../../../src/runtime/ottl/functions/text/grok.js";

const found = (name: string, line: string) => Object.fromEntries(grokPattern(`%{${name}}`, true, [])(line));

/** A line of every kind of message, and what must be found in it. */
const LINES: readonly (readonly [pattern: string, line: string, fields: Readonly<Record<string, unknown>>])[] = [
  [
    "CISCO_TAGGED_SYSLOG",
    "<164>Jan  5 2024 10:11:12 fw1 : %ASA-4-106023:",
    { "log.syslog.priority": 164n, "host.name": "fw1", "cisco.asa.tag": "ASA-4-106023" },
  ],
  ["CISCOFW104001", "(Primary) Switching to ACTIVE - mate wants me active", { "event.reason": "mate wants me active" }],
  ["CISCOFW105009", "(Secondary) Testing on interface dmz Passed", { "network.interface.name": "dmz" }],
  [
    "CISCOFW106001",
    "Inbound TCP connection denied from 10.0.0.1/1234 to 10.0.0.2/80 flags SYN  on interface outside",
    {
      "cisco.asa.network.direction": "Inbound",
      "cisco.asa.network.transport": "TCP",
      "cisco.asa.outcome": "denied",
      "source.address": "10.0.0.1",
      "source.port": 1234n,
      "destination.port": 80n,
      "observer.egress.interface.name": "outside",
    },
  ],
  [
    "CISCOFW106006_106007_106010",
    "Deny inbound UDP from 10.0.0.1/53 to 10.0.0.2/99 due to DNS Query",
    { "cisco.asa.outcome": "Deny", "event.reason": "DNS Query", "destination.port": 99n },
  ],
  [
    "CISCOFW106014",
    "Deny inbound icmp src outside:10.0.0.1 dst inside:10.0.0.2 (type 8, code 0)",
    {
      "observer.ingress.interface.name": "outside",
      "destination.address": "10.0.0.2",
      "cisco.asa.icmp_type": 8n,
      "cisco.asa.icmp_code": 0n,
    },
  ],
  [
    "CISCOFW106015",
    "Deny TCP (no connection) from 10.0.0.1/1 to 10.0.0.2/2 flags RST on interface in",
    { "cisco.asa.rule_name": "no connection", "cisco.asa.tcp_flags": "RST" },
  ],
  [
    "CISCOFW106021",
    "Deny UDP reverse path check from 10.0.0.1 to 10.0.0.2 on interface in",
    { "source.address": "10.0.0.1" },
  ],
  [
    "CISCOFW106023",
    'Deny tcp src outside:10.0.0.1/443 dst inside:10.0.0.2/8080 by access-group "acl_out" [0x1, 0x2]',
    { action: "Deny", "source.interface": "outside", "source.port": "443", policy_id: "acl_out", hashcode2: "0x2" },
  ],
  [
    "CISCOFW106100",
    "access-list acl permitted tcp in/10.0.0.1(5) -> out/10.0.0.2(80) hit-cnt 3 first hit [0xa, 0xb]",
    {
      "cisco.asa.rule_name": "acl",
      "cisco.asa.outcome": "permitted",
      "cisco.asa.hit_count": 3n,
      "metadata.cisco.asa.hashcode1": "0xa",
    },
  ],
  [
    "CISCOFW106100_2_3",
    "access-list acl denied udp for user 'ada' in/10.0.0.1(5) -> out/10.0.0.2(80) hit-cnt 3 300-second interval [0xa, 0xb]",
    { "user.name": "ada", "cisco.asa.interval": 300n },
  ],
  [
    "CISCOFW304001",
    "10.0.0.1(ada) Accessed URL 10.0.0.2:/index.html",
    { "source.user.name": "ada", "url.original": "/index.html" },
  ],
  [
    "CISCOFW110002",
    "Failed to locate egress interface for TCP from in:10.0.0.1/5 to 10.0.0.2/80",
    { "event.reason": "Failed to locate egress interface", "source.port": 5n },
  ],
  [
    "CISCOFW302010",
    "12 in use, 40 most used",
    { "cisco.asa.connections.in_use": 12n, "cisco.asa.connections.most_used": 40n },
  ],
  [
    "CISCOFW302013_302014_302015_302016",
    "Teardown TCP connection 99 for out:10.0.0.1/5 to in:10.0.0.2/80 duration 0:00:30 bytes 4096 TCP FINs (ada)",
    {
      "cisco.asa.outcome": "Teardown",
      "cisco.asa.connection_id": "99",
      "cisco.asa.duration": "0:00:30",
      "network.bytes": 4096n,
      "event.reason": "TCP FINs",
      "user.name": "ada",
    },
  ],
  [
    "CISCOFW302013_302014_302015_302016",
    "Built inbound TCP connection 99 for out:10.0.0.1/5 (1.2.3.4/5) to in:10.0.0.2/80 (10.0.0.2/80)",
    { "source.nat.ip": "1.2.3.4", "destination.nat.port": 80n },
  ],
  [
    "CISCOFW302020_302021",
    "Built inbound ICMP connection for faddr 10.0.0.1/7 gaddr 10.0.0.2/8 laddr 10.0.0.3/8",
    {
      "destination.address": "10.0.0.1",
      "cisco.asa.icmp_seq": 7n,
      "source.nat.ip": "10.0.0.2",
      "source.address": "10.0.0.3",
    },
  ],
  [
    "CISCOFW305011",
    "Built dynamic TCP translation from in:10.0.0.1/5 to out:1.2.3.4/6",
    { "observer.ingress.interface.name": "in", "destination.port": 6n },
  ],
  [
    "CISCOFW313001_313004_313008",
    "Denied ICMP type=8, code=0 from 10.0.0.1 on interface out",
    { "cisco.asa.outcome": "Denied", "cisco.asa.icmp_type": 8n },
  ],
  [
    "CISCOFW313005",
    "No matching connection for ICMP error message: icmp src out:10.0.0.1 dst in:10.0.0.2 (type 3, code 3) on out interface. Original IP payload: udp src 10.0.0.2/53 dst 10.0.0.1/9",
    { "event.reason": "No matching connection", "cisco.asa.original_ip_payload.source.port": 53n },
  ],
  [
    "CISCOFW321001",
    "Resource 'conns' limit of 500 reached for system",
    { "cisco.asa.resource.name": "conns", "cisco.asa.resource.limit": 500n },
  ],
  [
    "CISCOFW402117",
    "IPSEC: Received a non-IPSec packet (protocol= TCP) from 10.0.0.1 to 10.0.0.2",
    { "cisco.asa.network.type": "IPSEC" },
  ],
  [
    "CISCOFW402119",
    "IPSEC: Received an ESP packet (SPI= 0x1, sequence number= 0x2) from 10.0.0.1 (user= ada) to 10.0.0.2 that failed anti-replay checking",
    { "cisco.asa.ipsec.spi": "0x1", "cisco.asa.ipsec.seq_num": "0x2", "source.user.name": "ada" },
  ],
  [
    "CISCOFW419001",
    "Dropping TCP packet from in:10.0.0.1/5 to out:10.0.0.2/80, reason: MSS exceeded",
    { "event.reason": "MSS exceeded" },
  ],
  [
    "CISCOFW419002",
    "Duplicate TCP SYN from in:10.0.0.1/5 to out:10.0.0.2/80 with different initial sequence number",
    { "event.reason": "Duplicate TCP SYN" },
  ],
  [
    "CISCOFW500004",
    "Invalid transport field for protocol=TCP, from 10.0.0.1/5 to 10.0.0.2/0",
    { "event.reason": "Invalid transport field", "destination.port": 0n },
  ],
  [
    "CISCOFW602303_602304",
    "IPSEC: An outbound LAN-to-LAN SA (SPI= 0x1) between 10.0.0.1 and 10.0.0.2 (user= ada) has been created",
    { "cisco.asa.ipsec.tunnel_type": "LAN-to-LAN", "cisco.asa.outcome": "created" },
  ],
  [
    "CISCOFW710001_710002_710003_710005_710006",
    "UDP request discarded from 10.0.0.1/5 to out:10.0.0.2/6",
    { "cisco.asa.outcome": "discarded", "destination.port": 6n },
  ],
  [
    "CISCOFW713172",
    "Group = vpn, IP = 10.0.0.1, Automatic NAT Detection Status: Remote end is NOT behind a NAT device This end is behind a NAT device",
    {
      "cisco.asa.source.group": "vpn",
      "metadata.cisco.asa.remote_nat": "is NOT",
      "metadata.cisco.asa.local_nat": "is",
    },
  ],
  [
    "CISCOFW733100",
    "[ Scanning] drop rate-1 exceeded. Current burst rate is 7 per second, max configured rate is 10; Current average rate is 9 per second, max configured rate is 5; Cumulative total count is 147",
    { "cisco.asa.burst.object": "Scanning", "cisco.asa.burst.id": "rate-1", "cisco.asa.burst.cumulative_count": 147n },
  ],
  [
    "NETSCREENSESSIONLOG",
    'Jan  5 10:11:12 fw1 ns5: NetScreen device_id=ns5 [Root]system-notification-00257(traffic): start_time="2024-01-05 10:11:11" duration=3 policy_id=7 service=http proto=6 src zone=Trust dst zone=Untrust action=Permit sent=10 rcvd=20 src=10.0.0.1 dst=10.0.0.2 src_port=5 dst_port=80',
    { "observer.product": "NetScreen", "event.code": "00257", "source.bytes": 10n, "destination.port": 80n },
  ],
  [
    "RT_FLOW1",
    "RT_FLOW_SESSION_CLOSE: session closed TCP FIN: 10.0.0.1/5->10.0.0.2/80 http 1.2.3.4/6->10.0.0.2/80 None None 6 pol trust untrust 77 3(150) 4(300) 12 x",
    {
      "juniper.srx.tag": "RT_FLOW_SESSION_CLOSE",
      "juniper.srx.reason": "session closed TCP FIN",
      "source.bytes": 150n,
      "juniper.srx.elapsed_time": 12n,
    },
  ],
  [
    "RT_FLOW2",
    "RT_FLOW_SESSION_CREATE: session created 10.0.0.1/5->10.0.0.2/80 http 1.2.3.4/6->10.0.0.2/80 rule1 None 6 pol trust untrust 77 x",
    { "juniper.srx.src_nat_rule_name": "rule1", "juniper.srx.session_id": "77" },
  ],
  [
    "RT_FLOW3",
    "RT_FLOW_SESSION_DENY: session denied 10.0.0.1/5->10.0.0.2/80 http 6(0) pol trust untrust x",
    { "rule.name": "pol", "network.iana_number": "6" },
  ],
  [
    "IPTABLES",
    "IN=eth0 OUT= MAC=00:11:22:33:44:55:66:77:88:99:aa:bb:08:00 SRC=10.0.0.1 DST=10.0.0.2 LEN=40 TOS=0x00 PREC=0x00 TTL=64 ID=9 DF PROTO=TCP SPT=5 DPT=80 WINDOW=100 RES=0x00 SYN",
    {
      "observer.ingress.interface.name": "eth0",
      "destination.mac": "00:11:22:33:44:55",
      "source.mac": "66:77:88:99:aa:bb",
      "iptables.ttl": 64n,
      "destination.port": 80n,
      "iptables.tcp.window": 100n,
    },
  ],
  [
    "SHOREWALL",
    "Jan  5 10:11:12 gw kernel: Shorewall:net2fw:DROP:IN=eth0 OUT= SRC=10.0.0.1 DST=10.0.0.2 LEN=40 TOS=0x00 PREC=0x00 TTL=64 ID=9 PROTO=UDP SPT=5 DPT=53",
    { "shorewall.firewall.type": "net2fw", "shorewall.firewall.action": "DROP", "network.transport": "UDP" },
  ],
  [
    "SFW2",
    "Jan  5 10:11:12 gw kernel: SFW2-INext-DROP-DEFLT IN=eth0 OUT= SRC=10.0.0.1 DST=10.0.0.2 LEN=40 TOS=0x00 PREC=0x00 TTL=64 ID=9 PROTO=UDP SPT=5 DPT=53",
    { "suse.firewall.action": "DROP-DEFLT" },
  ],
  [
    "S3_ACCESS_LOG",
    'owner bucket [05/Jan/2024:10:11:12 +0000] 10.0.0.1 - REQ REST.GET.OBJECT a/b.txt "GET /a/b.txt HTTP/1.1" 200 - 11 22 33 44 "-" "curl/8" -',
    {
      "aws.s3access.bucket": "bucket",
      "client.address": "10.0.0.1",
      "http.response.status_code": 200n,
      "aws.s3access.turn_around_time": 44n,
      "user_agent.original": "curl/8",
    },
  ],
  [
    "ELB_ACCESS_LOG",
    '2024-01-05T10:11:12.1Z elb 10.0.0.1:5 10.0.0.2:80 0.001 0.002 0.003 200 201 4 5 "GET https://a.b:443/x?q=1 HTTP/1.1"',
    {
      "aws.elb.name": "elb",
      "aws.elb.backend_processing_time.sec": 0.002,
      "url.path": "/x",
      "http.response.body.size": 5n,
    },
  ],
  [
    "CLOUDFRONT_ACCESS_LOG",
    "2024-01-05\t10:11:12\tFRA50\t100\t10.0.0.1\tGET\td1.cloudfront.net\t/x\t200\t-\tcurl\tq=1\t-\tHit\tREQ\ta.b\thttps\t20\t0.01\t-\tTLSv1.3\tAES\tHit\tHTTP/2.0\t-\t-\t5\t0.001\tHit\ttext/html\t7\t-\t-",
    {
      timestamp: "2024-01-05\t10:11:12",
      "destination.bytes": 100n,
      "url.query": "q=1",
      "aws.cloudfront.time_taken": 0.01,
      "source.port": 5n,
      "aws.cloudfront.http.request.size": 7n,
    },
  ],
  [
    "BIND9",
    "05-Jan-2024 10:11:12.123 queries: info: client @0xab 10.0.0.1#5 (a.b): query: a.b IN AAAA +E (10.0.0.2)",
    {
      "client.port": 5n,
      "dns.question.name": "a.b",
      "dns.question.class": "IN",
      "dns.question.type": "AAAA",
      "bind.log.question.flags": "+E",
      "server.address": "10.0.0.2",
    },
  ],
  [
    "BRO_CONN",
    "1.5\tS1\t10.0.0.1\t5\t10.0.0.2\t80\ttcp\thttp\t0.5\t10\t20\tSF\tT\tF\t0\tShADa\t3\t30\t4\t40\t(empty)",
    { "zeek.session_id": "S1", "zeek.connection.duration": 0.5, "destination.bytes": 40n },
  ],
  [
    "BRO_DNS",
    "1.5\tS1\t10.0.0.1\t5\t10.0.0.2\t53\tudp\t7\ta.b\t1\tC_INTERNET\t1\tA\t0\tNOERROR\tF\tF\tT\tT\t0\t10.0.0.9\t60.0\tF",
    { "dns.id": 7n, "dns.response_code": "NOERROR", "zeek.dns.rejected": "F" },
  ],
  [
    "BRO_HTTP",
    "1.5\tS1\t10.0.0.1\t5\t10.0.0.2\t80\t1\tGET\ta.b\t/x\t-\tcurl\t0\t10\t200\tOK\t-\t-\t-\t(empty)\t-\t-\t-\t-\t-\tF1\ttext/html",
    { "http.request.method": "GET", "http.response.status_code": 200n, "http.response.mime_type": "text/html" },
  ],
  [
    "BRO_FILES",
    "1.5\tF1\t10.0.0.1\t10.0.0.2\tS1\tHTTP\t0\tMD5\ttext/html\t-\t0.1\tF\tT\t10\t20\t0\t0\tF\t-\tabc\t-\t-\t-",
    { "zeek.files.fuid": "F1", "file.size": 20n, "file.hash.md5": "abc" },
  ],
  [
    "EXIM",
    "2024-01-05 10:11:12 [99] 1rLabc-000abc-Xy <= ada@a.b H=mail.a.b (helo) [10.0.0.1]:25 I=[10.0.0.2]:26 P=esmtps S=1234 id=m1 for bob@c.d",
    {
      "process.pid": 99n,
      "exim.log.message.id": "1rLabc-000abc-Xy",
      "exim.log.sender.email": "ada@a.b",
      "source.port": 25n,
      "exim.log.message.body.size": 1234n,
      "exim.log.recipient.email": "bob@c.d",
    },
  ],
  [
    "RAILS3",
    'Started GET "/users/1?x=2" for 10.0.0.1 at 2024-01-05 10:11:12 +0100\nProcessing by UsersController#show as HTML\nCompleted 200 OK in 50ms (Views: 20.5ms | ActiveRecord: 10ms)',
    {
      "http.request.method": "GET",
      "rails.controller.class": "UsersController",
      "rails.controller.action": "show",
      "rails.request.format": "HTML",
      "http.response.status_code": 200n,
      "rails.request.duration.view": 20.5,
    },
  ],
];

describe("grok", () => {
  it.each(LINES.map(([pattern, line, fields]) => [pattern, line, fields] as const))(
    "finds what %s names",
    (pattern, line, fields) => {
      expect(found(pattern, line)).toMatchObject(fields);
    },
  );

  it("knows no pattern that an object has by nature", () => {
    expect(() => grokPattern("%{constructor:x}", true, [])).toThrow("no such grok pattern");
  });
});
