import type { FormatAnswer, RequestFormat } from "#receiving/requests";

type AnyError = Parameters<NonNullable<RequestFormat["answerError"]>>[0];

const JSON_TYPE = "application/json";

/** The answers of Splunk's HTTP Event Collector. */
export const HEC_OK = answer(200, '{"text": "Success", "code": 0}');
export const HEC_HEALTHY = answer(200, '{"text": "HEC is healthy", "code": 17}');
export const POST_ONLY = answer(400, '"Only \\"POST\\" method is supported"');
export const NO_DATA = answer(400, '{"text":"No data","code":5}');
export const CHANNEL_MISSING = answer(400, '{"text": "Data channel is missing","code":10}');
export const INVALID_CHANNEL = answer(400, '{"text": "Invalid data channel", "code": 11}');

/** A request that cannot be taken; `answer` is what the client gets. */
export class HecError extends Error {
  readonly answer: FormatAnswer;

  constructor(given: FormatAnswer) {
    super(given.body);
    this.answer = given;
  }

  static invalidFormat(): HecError {
    return new HecError(answer(400, '{"text":"Invalid data format","code":6}'));
  }

  static eventRequired(): HecError {
    return new HecError(answer(400, '{"text":"Event field is required","code":12}'));
  }

  static eventBlank(): HecError {
    return new HecError(answer(400, '{"text":"Event field cannot be blank","code":13}'));
  }

  static nestedFields(index: number): HecError {
    return new HecError(
      answer(400, `{"text":"Error in handling indexed fields","code":15,"invalid-event-number":${index}}`),
    );
  }

  /** No pipeline of this kind reads from the receiver. */
  static unsupported(kind: "metric" | "log"): HecError {
    return new HecError(answer(400, `"Unsupported ${kind} event"`));
  }
}

/** Clients know Splunk's codes: that of 9 tells them to send again. */
export function hecErrorAnswer({ httpStatus, message }: AnyError): FormatAnswer {
  if (httpStatus === 503 || httpStatus === 429) return answer(httpStatus, '{"text":"Server is busy","code":9}');
  if (httpStatus === 401 || httpStatus === 403) return answer(httpStatus, '{"text":"Invalid authorization","code":3}');
  return answer(httpStatus, /^[{"]/.test(message) ? message : JSON.stringify({ text: message, code: 6 }));
}

function answer(status: number, body: string): FormatAnswer {
  return { status, contentType: JSON_TYPE, body };
}
