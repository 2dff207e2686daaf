const SECOND_NS = 1_000_000_000

/** The JetStream stream that carries events and notifications to webhook-service. */
export const LEADS_STREAM = {
  name: 'LEADS',
  subjects: {
    events: 'leads.events',
    notifications: 'notifications.requested',
  },
} as const

/**
 * The id of a message with an event. Within `duplicate_window` the stream takes each id once: so an event that is published again, after
 * its message with the sequence number `lost` was lost, has another.
 */
export const messageIdOf = (eventId: string, lost: number | null = null): string =>
  lost === null ? eventId : `${eventId}:${lost}`

/** The event that a message is about, by the id that `messageIdOf` made. */
export const eventIdOf = (messageId: string): string => messageId.split(':', 1)[0]!

/**
 * The stream as publisher and consumer both make it, in whatever order they connect. It is a pipe: PostgreSQL keeps what is not
 * yet stored by the consumer, and the outbox's sweep publishes again what the stream let go of too early. So it needs an
 * hour at most, and what it holds never stops publishing: the oldest goes out first.
 */
export const LEADS_STREAM_CONFIG = {
  name: LEADS_STREAM.name,
  subjects: Object.values(LEADS_STREAM.subjects),
  retention: 'limits' as const,
  storage: 'file' as const,
  discard: 'old' as const,
  max_age: 3600 * SECOND_NS,
  // Some 400,000 ordinary events, or 500 of the largest. nats-server refuses a stream that may outgrow its own store, which
  // is three quarters of the free disk unless its configuration says otherwise: this fits a disk with 700 MB free.
  max_bytes: 512 * 1024 * 1024,
  // For a publisher that heard no acknowledgement and tries again. Consumers drop duplicates by event id anyway.
  duplicate_window: 10 * SECOND_NS,
}

/** The same with a number of replicas. Without one the stream keeps what it has; a new one has one. */
export const leadsStreamConfig = (replicas: number | undefined) => ({
  ...LEADS_STREAM_CONFIG,
  ...(replicas !== undefined && { num_replicas: replicas }),
})

/** The durable consumer of events that all copies of webhook-service share. */
export const WEBHOOK_CONSUMER = 'webhook-service'
/** The same for notifications: what waits for a mail server is not in the way of webhooks. */
export const NOTIFICATION_CONSUMER = 'webhook-service-notifications'
