import type { Counter, Histogram, Metrics } from "#contract";
import type { Entry } from "#contract/operations";

/** Messages of further events and sources are counted together. */
const MAX_SERIES = 100;
const OTHER = "(other)";
const MAX_LABEL_LENGTH = 100;
const SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 3600, 86_400];

interface MessageSeries {
  readonly delivered: Counter;
  readonly retries: Counter;
  readonly deadLetters: Counter;
  readonly age: Histogram;
  readonly duration: Histogram;
}

/**
 * Metrics of messages by event and by the queue or topic that they came from, for one exporter or handler. Their number
 * is bounded: senders choose these names. Data that is no message of a broker is not counted here.
 */
export class MessageMetrics {
  private readonly exporter: string;
  private readonly metrics: Metrics;
  private readonly series = new Map<string, MessageSeries>();

  constructor(exporter: string, metrics: Metrics) {
    this.exporter = exporter;
    this.metrics = metrics;
  }

  /** Times are milliseconds since the epoch. `sentAt` is when the last attempt began. */
  delivered({ source, enqueuedAt }: Entry, now: number, sentAt: number | undefined): void {
    const series = this.seriesOf(source);
    if (series === undefined) return;
    series.delivered.add(1);
    series.age.record(Math.max(0, now - enqueuedAt) / 1000);
    if (sentAt !== undefined) series.duration.record(Math.max(0, now - sentAt) / 1000);
  }

  retried({ source }: Entry): void {
    this.seriesOf(source)?.retries.add(1);
  }

  deadLettered({ source }: Entry): void {
    this.seriesOf(source)?.deadLetters.add(1);
  }

  private seriesOf({ queue, event = "" }: Entry["source"]): MessageSeries | undefined {
    if (queue === undefined) return undefined;
    const key = JSON.stringify([queue, event]);
    const known = this.series.get(key);
    if (known !== undefined) return known;
    if (this.series.size >= MAX_SERIES) return this.series.get(OTHER) ?? this.create(OTHER, OTHER, OTHER);
    return this.create(key, queue, event);
  }

  private create(key: string, source: string, event: string): MessageSeries {
    const attributes = { exporter: this.exporter, source: shortLabel(source), event: shortLabel(event) };
    const counter = (name: string, description: string) => this.metrics.counter(name, { description }, attributes);
    const histogram = (name: string, description: string) =>
      this.metrics.histogram(name, { description, unit: "s", boundaries: SECONDS }, attributes);
    const series = {
      delivered: counter("sluice_messages_delivered", "Messages that were delivered or handled."),
      retries: counter("sluice_message_retries", "Retries of messages."),
      deadLetters: counter("sluice_message_dead_letters", "Messages that became dead letters."),
      age: histogram("sluice_message_age", "Time from the arrival of a message to its delivery."),
      duration: histogram("sluice_message_duration", "Time that the successful call for a message took."),
    };
    this.series.set(key, series);
    return series;
  }
}

function shortLabel(text: string): string {
  return text.slice(0, MAX_LABEL_LENGTH);
}
