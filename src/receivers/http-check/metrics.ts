import { gauge, type MetricTable, optional, upDown } from "#receiving";

export const HTTP_CHECK_METRICS = {
  "httpcheck.status": upDown("1", "1 for the class of the answer's status, 0 for the others."),
  "httpcheck.duration": gauge("ms", "How long the check took, with redirects and the body.", true),
  "httpcheck.error": upDown("{error}", "1 with the reason if no answer came."),
  "httpcheck.dns.lookup.duration": optional(gauge("ns", "Time until the address of the host was known.", true)),
  "httpcheck.client.connection.duration": optional(gauge("ns", "Time to connect.", true)),
  "httpcheck.tls.handshake.duration": optional(gauge("ns", "Time of the TLS handshake.", true)),
  "httpcheck.client.request.duration": optional(gauge("ns", "Time to send the request.", true)),
  "httpcheck.response.duration": optional(gauge("ns", "Time from the head of the answer to its end.", true)),
  "httpcheck.response.size": optional(gauge("By", "Bytes of the body.", true)),
  "httpcheck.tls.cert_remaining": optional(gauge("s", "Time until the server's certificate expires.", true)),
  "httpcheck.validation.passed": optional(upDown("{validation}", "Validations that the body passed, by type.")),
  "httpcheck.validation.failed": optional(upDown("{validation}", "Validations that the body failed, by type.")),
} as const satisfies MetricTable;
