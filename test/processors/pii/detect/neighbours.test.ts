import { describe, expect, it } from "vitest";
import { maskText } from "../../../../src/processors/pii/mask-text.js";

/** The text around a value decides about it. The texts here stand for classes; the corpora have many of each. */
describe("text around a value that says it is something else", () => {
  it.each([
    ["a step between versions", "Bump rails from 7.1.3.4 to 7.2.1.1"],
    ["an arrow between versions", "SqlClient 5.9.1.65 -> 5.2.3.75"],
    ["the name of a program", "client 2.24.11.79 connected"],
    ["a browser", "Firefox 121.0.1.41 crashed"],
    ["release notes", "release notes 10.92.28.60: fixes printing"],
    ["the name of a preference", "Cookie: theme=dark; lang=de; currency=EUR"],
    ["attributes of a cookie", "Set-Cookie: locale=fr_FR; Path=/; Max-Age=31536000"],
    ["words in round brackets", "  + password = (sensitive value)"],
    ["words in angle brackets", "password: <not shown>"],
    ["a mask", "password: ***"],
    ["the next name of a struct", "Config{Password: Token: Debug:false}"],
    ["a URL of the documentation", "postgres://USER:PASSWORD@HOST/DB"],
    ["a quantity in another script", "パスワードは8文字以上で入力してください"],
    ["an adjective after a verb", "la password è obbligatoria"],
    ["the same in Polish", "hasło jest wymagane"],
    ["an air waybill", "AWB 020-46751822 booked"],
    ["a cell of a network", "cell id 310-260-44182-8812 RSRP -98 dBm"],
    ["a call of SIP", "Call-ID: 1dd43661-b9d2-4ec4-8736-d581ee1ba670@sbc-2.internal"],
    ["a row of numbers", "counts: 4111 0042 8812 7730 rejected"],
    ["bytes in hex", "canbus id 0x18FEF100 dlc 8 data 00 11 22 33 44 55 66 77"],
    ["a segment of EDIFACT", "LIN+1++4006381333931:EN'"],
    ["the name of a thread", "[LeaseRenewer:msrabi@msra-sa-41:9000] Failed to renew lease"],
    ["the next page of a list", "continuationToken=HIBh0ARpaDP1EedZr4n2SXBbsXKe0i78"],
    ["a word for something required", "campo senha é obrigatório"],
    ["a call in a traceback", "    passwd = _raw_input(prompt, stream, input=input)"],
    ["a reference in a template", "password = random_password.db.result"],
    ["the name of a placeholder", "api_key: YOUR_API_KEY"],
    ["the name of a key", "Enter password for key 'id_ed25519':"],
    ["a command without a password", "rabbitmqctl list_queues name1 messages2"],
    ["a community of nothing", "snmp-server enable traps v2c"],
    ["what is only printed", "echo build1234 done"],
    ["a code of an error", "request failed code=346169 attempt=3"],
    ["a session that is counted", "Expiring session 0x24f3fdaf7380008, timeout of 10000ms exceeded"],
  ])("leaves %s", (_, text) => {
    expect(maskText(text, false)).toBe(text);
  });
});

describe("text around a value that names it", () => {
  it.each([
    ["a sentence with words between", "new password for locker terminal 9 is yellow-crane-18", "yellow-crane-18"],
    ["a colon after a phrase", "Twoje hasło do panelu: go_packers1", "go_packers1"],
    ["quotes in a sentence", 'Senha informada "Flamengo81" inválida', "Flamengo81"],
    ["brackets of another script", "ログインパスワードは「Zx9kLm77」です", "Zx9kLm77"],
    ["guillemets", "le mot de passe « N3w-Y0rk_88 » trois fois", "N3w-Y0rk_88"],
    ["a sign inside the password", "Adgangskoden er nu Winter#22", "Winter#22"],
    ["a constant", "define( 'DB_PASSWORD', 'ninja_turtle1' );", "ninja_turtle1"],
    ["the config of a router", "enable secret 0 Passw0rt123", "Passw0rt123"],
    ["a pipe", 'echo "changeme1" | sudo -S systemctl restart x', "changeme1"],
    ["operands of a command", "htpasswd -b /etc/nginx/.htpasswd staging mariposa7", "mariposa7"],
    ["a user of a broker", "rabbitmqctl add_user bunny c4rrot-stew", "c4rrot-stew"],
    ["another one", "rabbitmqctl -n rabbit@mq1 change_password bunny Tr0ub4dor", "Tr0ub4dor"],
    ["a share of Windows", "net use X: \\\\fs01\\share S3cret!x /user:CORP\\anna", "S3cret!x"],
    ["a task of Windows", "schtasks /create /ru CORP\\svc /rp Night0wl! /tn backup", "Night0wl!"],
    ["a pair of a user and a password", "winexe -U corp/anna%tiger //host cmd", "tiger"],
    ["a pair without a space", "curl -uanna:tiger https://example.com", "tiger"],
    ["a list of arguments", '["curl","-u","admin:gr33nhouse","http://es:9200"]', "gr33nhouse"],
    ["a script that answers", 'expect: send "spawn0fTel\\r" ; prompt seen', "spawn0fTel"],
    ["another pipe", "echo kerb3ros! | kinit svc@EXAMPLE.ORG", "kerb3ros!"],
    ["a community", "snmp-server community n0tPublic RO", "n0tPublic"],
    ["a call with a host", "mysqli->__construct('db1', 'forum', 'Wr0ng-H0rse!', 'forum')", "Wr0ng-H0rse!"],
    ["a dump of PHP", '["pass"]=> string(9) "misiek123"', "misiek123"],
    ["a code that was sent", "verification code mismatch    code=346169 attempt=3", "346169"],
    ["another value of its kind", "passport C01X00T47 replaced by CR60TPLN7, keep it", "CR60TPLN7"],
    ["the issuer behind it, in HL7", "PID|1||8224898^^^AMMS^MR||Kowalska^Anna", "8224898"],
    ["the second of two issuers", "PID|1||8224898^^^AMMS^MR~59100882997^^^PESEL||", "59100882997"],
    ["a segment of X12", "NM1*IL*1*Doe*Jo****MI*H004837250~ DMG*D8*19830604*F~", "H004837250"],
    ["a segment of EDIFACT", "NAD+FL+++Doe:Jo'DTM+329:19791201'DOC+P:110:111+AAC576350'", "AAC576350"],
    ["a line that machines read", "MRZ line2 read: ZU89400916ESP0207142M3112191<<<<<<<<<<<<<<<6 ok", "ZU89400916"],
    ["a type before the number", "travel_document{type=PASSPORT, number=YA3858715, issuer=ITA}", "YA3858715"],
    ["groups with a letter", "Rentenversicherungsnummer: 15 070649 C 103 fehlt", "15 070649 C 103"],
    ["a wrapper of a language", 'password: Some("tEmp0ral")', "tEmp0ral"],
    ["an arrow to a new value", 'password: "K1ngk0ng" => "mariposa7"', "mariposa7"],
    ["the code of a card behind it", "amex 3721 348704 09684 cid 9443", "9443"],
    ["a list of codes", "backup codes: x8wcr-fguae, pz7yz-1lg3w", "x8wcr-fguae, pz7yz-1lg3w"],
    ["an airline's message", "DOCS/P/GBR/545334927/GBR/12MAR84/F", "545334927"],
    ["a place further in front", "Standort des Fahrers: -33.848298, 18.463456", "-33.848298, 18.463456"],
    ["a receiver of GPS", "$GPGGA,091733,5814.5214,N,01125.4217,E,1", "5814.5214,N,01125.4217,E"],
    ["a state before the number", "driver license CA H9589953 verified", "H9589953"],
    [
      "words of a wallet",
      "recovery phrase abstract bamboo canyon dolphin elbow fabric garment hazard inside jacket kitchen ladder pasted",
      "abstract bamboo canyon dolphin elbow fabric garment hazard inside jacket kitchen ladder",
    ],
  ])("lets %s lead to it", (_, text, value) => {
    expect(maskText(text, false)).not.toContain(value);
  });

  it.each([
    ["Solana", "CXBduDWU5j8D74hyzuog8bB4J4USoGJ8B49ewQKt11N"],
    ["TON", "UQBJQUlMA2LMb3oZmTzAQ97UuuA7kTDc0v7T5MJNTx2kS1MK"],
    ["Algorand", "OIWI4IZXOC2EXK3NPBTZU26VHPFBC4CL277SXZOFH4OSYIWHWHBZEZX6PE"],
    ["a SIM card", "8933683934453283721"],
    ["a vehicle", "1HG8KWW1XR9819012"],
    ["a British driving licence", "MORGA657054SM9IJ"],
  ])("is not needed for %s", (_, value) => {
    expect(maskText(`seen ${value} today`, false)).toBe("seen **** today");
  });
});
