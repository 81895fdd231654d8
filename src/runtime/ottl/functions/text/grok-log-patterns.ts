/**
 * Grok patterns for whole log lines: syslog, web servers, Java, databases and others. Written for this project; the
 * names of patterns and fields are the customary ones.
 */
const SYSLOG: Readonly<Record<string, string>> = {
  SYSLOGFACILITY: "<%{NONNEGINT:log.syslog.facility.code:int}.%{NONNEGINT:log.syslog.priority:int}>",
  SYSLOGBASE: "%{SYSLOGTIMESTAMP:timestamp} (?:%{SYSLOGFACILITY} )?%{SYSLOGHOST:host.name} %{SYSLOGPROG}:",
  SYSLOGBASE2:
    "(?:%{SYSLOGTIMESTAMP:timestamp}|%{TIMESTAMP_ISO8601:timestamp}) (?:%{SYSLOGFACILITY} )?%{SYSLOGHOST:host.name}(?: %{SYSLOGPROG}:)?",
  SYSLOGPAMSESSION:
    "%{SYSLOGBASE} %{WORD:system.auth.pam.module}\\(%{DATA:system.auth.pam.origin}\\): session %{WORD:system.auth.pam.session_state} for user %{USERNAME:user.name}(?: by %{GREEDYDATA})?",
  CRON_ACTION: "[A-Z ]+",
  CRONLOG: "%{SYSLOGBASE} \\(%{USER:user.name}\\) %{CRON_ACTION:system.cron.action} \\(%{DATA:message}\\)",
  SYSLOGLINE: "%{SYSLOGBASE2} %{GREEDYDATA:message}",
  SYSLOG5424PRINTASCII: "[!-~]+",
  SYSLOG5424PRI: "<%{NONNEGINT:log.syslog.priority:int}>",
  SYSLOG5424SD: "\\[[^\\]]*\\]+",
  SYSLOG5424BASE:
    "%{SYSLOG5424PRI}%{NONNEGINT:system.syslog.version} +(?:-|%{TIMESTAMP_ISO8601:timestamp}) +(?:-|%{IPORHOST:host.name}) +(?:-|%{SYSLOG5424PRINTASCII:process.command}) +(?:-|%{POSINT:process.pid:int}) +(?:-|%{SYSLOG5424PRINTASCII:event.code}) +(?:-|%{SYSLOG5424SD:system.syslog.structured_data})?",
  SYSLOG5424LINE: "%{SYSLOG5424BASE} +%{GREEDYDATA:message}",
};

const WEB_SERVERS: Readonly<Record<string, string>> = {
  HTTPDERROR_DATE: "%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{YEAR}",
  HTTPD20_ERRORLOG:
    "\\[%{HTTPDERROR_DATE:timestamp}\\] \\[%{LOGLEVEL:log.level}\\] (?:\\[client %{IPORHOST:source.address}\\] )?%{GREEDYDATA:message}",
  HTTPD24_ERRORLOG:
    "\\[%{HTTPDERROR_DATE:timestamp}\\] \\[(?:%{WORD:apache.error.module})?:%{LOGLEVEL:log.level}\\] \\[pid %{POSINT:process.pid:long}(?::tid %{INT:process.thread.id:int})?\\](?: \\(%{POSINT:apache.error.proxy.error.code}\\)%{DATA:apache.error.proxy.error.message}:)?(?: \\[client %{IPORHOST:source.address}(?::%{POSINT:source.port:int})?\\])?(?: %{DATA:error.code}:)? %{GREEDYDATA:message}",
  HTTPD_ERRORLOG: "%{HTTPD20_ERRORLOG}|%{HTTPD24_ERRORLOG}",
  ELB_URIHOST: "%{IPORHOST:url.domain}(?::%{POSINT:url.port:int})?",
  ELB_URIPATHQUERY: "%{URIPATH:url.path}(?:\\?%{URIQUERY:url.query})?",
  ELB_URIPATHPARAM: "%{ELB_URIPATHQUERY}",
  ELB_URI: "%{URIPROTO:url.scheme}://(?:%{USER:url.username}(?::[^@]*)?@)?(?:%{ELB_URIHOST})?(?:%{ELB_URIPATHQUERY})?",
  ELB_REQUEST_LINE: "%{WORD:http.request.method} %{ELB_URI:url.original}(?: HTTP/%{NUMBER:http.version})?",
  SQUID3_STATUS: "%{POSINT:http.response.status_code:int}|0+",
  SQUID3:
    "%{NUMBER:timestamp} +%{NUMBER:squid.request.duration:int} %{IP:source.address} %{WORD:event.action}/%{SQUID3_STATUS} %{INT:http.response.bytes:long} %{WORD:http.request.method} %{NOTSPACE:url.original} (?:-|%{NOTSPACE:user.name}) %{WORD:squid.hierarchy_code}/(?:-|%{IPORHOST:destination.address}) (?:-|%{NOTSPACE:http.response.mime_type})",
  HAPROXYTIME: "%{HOUR}:%{MINUTE}(?::%{SECOND})",
  HAPROXYDATE: "%{MONTHDAY}/%{MONTH}/%{YEAR}:%{HAPROXYTIME}",
  HAPROXYCAPTUREDREQUESTHEADERS: "%{DATA:haproxy.http.request.captured_headers}",
  HAPROXYCAPTUREDRESPONSEHEADERS: "%{DATA:haproxy.http.response.captured_headers}",
  HAPROXYURI:
    "(?:%{URIPROTO:url.scheme}://)?(?:%{USER:url.username}(?::[^@]*)?@)?(?:%{IPORHOST:url.domain}(?::%{POSINT:url.port:int})?)?(?:%{URIPATH:url.path}(?:\\?%{URIQUERY:url.query})?)?",
  HAPROXYHTTPREQUESTLINE:
    "<BADREQ>|%{WORD:http.request.method} %{HAPROXYURI:url.original}(?: HTTP/%{NUMBER:http.version})?",
  HAPROXYHTTPBASE:
    '%{IP:source.address}:%{INT:source.port:int} \\[%{HAPROXYDATE:haproxy.request_date}\\] %{NOTSPACE:haproxy.frontend_name} %{NOTSPACE:haproxy.backend_name}/(?:<NOSRV>|%{NOTSPACE:haproxy.server_name}) (?:-1|%{INT:haproxy.http.request.time_wait_ms:int})/(?:-1|%{INT:haproxy.total_waiting_time_ms:int})/(?:-1|%{INT:haproxy.connection_wait_time_ms:int})/(?:-1|%{INT:haproxy.http.request.time_wait_without_data_ms:int})/%{NOTSPACE:haproxy.total_time_ms} %{INT:http.response.status_code:int} %{INT:source.bytes:long} (?:-|%{DATA:haproxy.http.request.captured_cookie}) (?:-|%{DATA:haproxy.http.response.captured_cookie}) %{NOTSPACE:haproxy.termination_state} %{INT:haproxy.connections.active:int}/%{INT:haproxy.connections.frontend:int}/%{INT:haproxy.connections.backend:int}/%{INT:haproxy.connections.server:int}/%{INT:haproxy.connections.retries:int} %{INT:haproxy.server_queue:int}/%{INT:haproxy.backend_queue:int} (?:\\{%{HAPROXYCAPTUREDREQUESTHEADERS}\\} )?(?:\\{%{HAPROXYCAPTUREDRESPONSEHEADERS}\\} )?"%{HAPROXYHTTPREQUESTLINE}"?',
  HAPROXYHTTP:
    "(?:%{SYSLOGTIMESTAMP:timestamp}|%{TIMESTAMP_ISO8601:timestamp}) %{IPORHOST:host.name} %{SYSLOGPROG}: %{HAPROXYHTTPBASE}",
  HAPROXYTCP:
    "(?:%{SYSLOGTIMESTAMP:timestamp}|%{TIMESTAMP_ISO8601:timestamp}) %{IPORHOST:host.name} %{SYSLOGPROG}: %{IP:source.address}:%{INT:source.port:int} \\[%{HAPROXYDATE:haproxy.request_date}\\] %{NOTSPACE:haproxy.frontend_name} %{NOTSPACE:haproxy.backend_name}/(?:<NOSRV>|%{NOTSPACE:haproxy.server_name}) (?:-1|%{INT:haproxy.total_waiting_time_ms:int})/(?:-1|%{INT:haproxy.connection_wait_time_ms:int})/%{NOTSPACE:haproxy.total_time_ms} %{INT:source.bytes:long} %{NOTSPACE:haproxy.termination_state} %{INT:haproxy.connections.active:int}/%{INT:haproxy.connections.frontend:int}/%{INT:haproxy.connections.backend:int}/%{INT:haproxy.connections.server:int}/%{INT:haproxy.connections.retries:int} %{INT:haproxy.server_queue:int}/%{INT:haproxy.backend_queue:int}",
};

const JAVA: Readonly<Record<string, string>> = {
  JAVACLASS: "(?:[a-zA-Z$_][a-zA-Z$_0-9]*\\.)*[a-zA-Z$_][a-zA-Z$_0-9]*",
  JAVAFILE: "[a-zA-Z$_0-9. -]+",
  JAVAMETHOD: "<init>|<clinit>|[a-zA-Z$_][a-zA-Z$_0-9]*",
  JAVASTACKTRACEPART:
    "%{SPACE}at %{JAVACLASS:java.log.origin.class.name}\\.%{JAVAMETHOD:log.origin.function}\\(%{JAVAFILE:log.origin.file.name}(?::%{INT:log.origin.file.line:int})?\\)",
  JAVATHREAD: "(?:[A-Z]{2}-Processor\\d+)",
  JAVALOGMESSAGE: ".*",
  CATALINA7_DATESTAMP: "%{MONTH} %{MONTHDAY}, %{YEAR} %{HOUR}:%{MINUTE}:%{SECOND} (?:AM|PM)",
  CATALINA7_LOG:
    "%{CATALINA7_DATESTAMP:timestamp} %{JAVACLASS:java.log.origin.class.name}(?: %{JAVAMETHOD:log.origin.function})?\\s*%{LOGLEVEL:log.level}:\\s*%{JAVALOGMESSAGE:message}",
  CATALINA8_DATESTAMP: "%{MONTHDAY}-%{MONTH}-%{YEAR} %{HOUR}:%{MINUTE}:%{SECOND}",
  CATALINA8_LOG:
    "%{CATALINA8_DATESTAMP:timestamp} %{LOGLEVEL:log.level} \\[%{DATA:java.log.origin.thread.name}\\] %{JAVACLASS:java.log.origin.class.name}\\.(?:%{JAVAMETHOD:log.origin.function})? %{JAVALOGMESSAGE:message}",
  CATALINA_DATESTAMP: "%{CATALINA8_DATESTAMP}|%{CATALINA7_DATESTAMP}",
  CATALINALOG: "%{CATALINA8_LOG}|%{CATALINA7_LOG}",
  TOMCAT7_LOG: "%{CATALINA7_LOG}",
  TOMCAT8_LOG: "%{CATALINA8_LOG}",
  TOMCATLEGACY_DATESTAMP: "%{YEAR}-%{MONTHNUM}-%{MONTHDAY} %{HOUR}:%{MINUTE}:%{SECOND}(?: %{ISO8601_TIMEZONE})?",
  TOMCATLEGACY_LOG:
    "%{TOMCATLEGACY_DATESTAMP:timestamp} \\| %{LOGLEVEL:log.level} \\| %{JAVACLASS:java.log.origin.class.name} - %{JAVALOGMESSAGE:message}",
  TOMCAT_DATESTAMP: "%{CATALINA8_DATESTAMP}|%{CATALINA7_DATESTAMP}|%{TOMCATLEGACY_DATESTAMP}",
  TOMCATLOG: "%{TOMCAT8_LOG}|%{TOMCAT7_LOG}|%{TOMCATLEGACY_LOG}",
  MAVEN_VERSION: "\\d+(?:\\.\\d+)?(?:\\.\\d+)?(?:[.-](?:RELEASE|SNAPSHOT))?",
};

const DATABASES: Readonly<Record<string, string>> = {
  REDISTIMESTAMP: "%{MONTHDAY} %{MONTH} %{TIME}",
  REDISLOG: "\\[%{POSINT:process.pid:int}\\] %{REDISTIMESTAMP:timestamp} \\*",
  REDISMONLOG:
    '%{NUMBER:timestamp} \\[%{INT:redis.database.id} %{IP:client.address}:%{POSINT:client.port:int}\\] "%{WORD:redis.command.name}"\\s?%{GREEDYDATA:redis.command.args}',
  POSTGRESQL:
    "%{DATESTAMP:timestamp} %{TZ:event.timezone} %{DATA:user.name} %{GREEDYDATA:postgresql.log.connection_id} %{POSINT:process.pid:int}",
  MONGO_LOG: "%{SYSLOGTIMESTAMP:timestamp} \\[%{WORD:db.mongodb.component}\\] %{GREEDYDATA:message}",
  MONGO_QUERY_CONTENT: "\\{.*?\\}",
  MONGO_QUERY: "\\{ %{MONGO_QUERY_CONTENT:MONGO_QUERY} ntoreturn:",
  MONGO_WORDDASH: "\\b[\\w-]+\\b",
  MONGO_SLOWQUERY:
    "%{WORD:db.mongodb.profile.op} %{MONGO_WORDDASH:db.mongodb.database}\\.%{MONGO_WORDDASH:db.mongodb.collection} %{WORD}: %{MONGO_QUERY_CONTENT:db.mongodb.query.original} ntoreturn:%{NONNEGINT:db.mongodb.profile.ntoreturn:int} ntoskip:%{NONNEGINT:db.mongodb.profile.ntoskip:int} nscanned:%{NONNEGINT:db.mongodb.profile.nscanned:int}.*? nreturned:%{NONNEGINT:db.mongodb.profile.nreturned:int}.*? %{INT:db.mongodb.profile.duration:int}ms",
  MONGO3_SEVERITY: "\\w",
  MONGO3_COMPONENT: "%{WORD}",
  MONGO3_LOG:
    "%{TIMESTAMP_ISO8601:timestamp} %{MONGO3_SEVERITY:log.level} (?:-|%{MONGO3_COMPONENT:db.mongodb.component})%{SPACE}(?:\\[%{DATA:db.mongodb.context}\\])? %{GREEDYDATA:message}",
};

const OTHERS: Readonly<Record<string, string>> = {
  CISCOMAC: "(?:[A-Fa-f0-9]{4}\\.){2}[A-Fa-f0-9]{4}",
  WINDOWSMAC: "(?:[A-Fa-f0-9]{2}-){5}[A-Fa-f0-9]{2}",
  COMMONMAC: "(?:[A-Fa-f0-9]{2}:){5}[A-Fa-f0-9]{2}",
  ISO8601_SECOND: "%{SECOND}",
  DATESTAMP_RFC2822: "%{DAY}, %{MONTHDAY} %{MONTH} %{YEAR} %{TIME} %{ISO8601_TIMEZONE}",
  DATESTAMP_OTHER: "%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{TZ} %{YEAR}",
  DATESTAMP_EVENTLOG: "%{YEAR}%{MONTHNUM2}%{MONTHDAY}%{HOUR}%{MINUTE}%{SECOND}",
  RUBY_LOGLEVEL: "DEBUG|FATAL|ERROR|WARN|INFO",
  RUBY_LOGGER:
    "[DFEWI], \\[%{TIMESTAMP_ISO8601:timestamp} #%{POSINT:process.pid:int}\\] *%{RUBY_LOGLEVEL:log.level} -- +%{DATA:process.command}: %{GREEDYDATA:message}",
  RUUID: "[0-9a-f]{32}",
  RCONTROLLER: "(?P<rails.controller.class>[^#]+)#(?P<rails.controller.action>\\w+)",
  MCOLLECTIVE: "., \\[%{TIMESTAMP_ISO8601:timestamp} #%{POSINT:process.pid:int}\\]%{SPACE}%{LOGLEVEL:log.level}",
  MCOLLECTIVEAUDIT: "%{TIMESTAMP_ISO8601:timestamp}:",
};

export const GROK_LOG_PATTERNS: Readonly<Record<string, string>> = {
  ...SYSLOG,
  ...WEB_SERVERS,
  ...JAVA,
  ...DATABASES,
  ...OTHERS,
};
