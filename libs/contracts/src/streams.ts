export const LEADS_STREAM = {
  name: 'LEADS',
  subjects: { events: 'leads.events', notifications: 'notifications.requested' },
} as const

/**
 * A subject of core NATS, outside the stream. Each message is a JSON array of the accounts whose log has
 * new events. A lost message only delays readers.
 */
export const LOGGED_SUBJECT = 'log.stored'

/**
 * Returns the id of a message of an event. The stream drops a message if another message with the same id
 * arrived within `duplicate_window`, so each repetition needs a new id. `repetition` counts the repetitions,
 * and is 0 for the first message.
 */
export const buildMessageId = (eventId: string, repetition: number): string =>
  repetition === 0 ? eventId : `${eventId}:${repetition}`

/** Returns the id of the event that a message id was built for. */
export const readEventId = (messageId: string): string => messageId.split(':', 1)[0]!

/**
 * The stream only transports events: the outbox keeps each event until webhook-service has stored it. A
 * full stream drops its oldest messages.
 */
export const LEADS_STREAM_CONFIG = {
  name: LEADS_STREAM.name,
  subjects: Object.values(LEADS_STREAM.subjects),
  retention: 'limits' as const,
  storage: 'file' as const,
  discard: 'old' as const,
  // In nanoseconds, like duplicate_window.
  max_age: 3600 * 1_000_000_000,
  // Room for some 400,000 ordinary events, or 500 of the largest. nats-server refuses a stream that may
  // outgrow the server's own limit. By default this limit is three quarters of the free disk space. The
  // stream may grow to 540 MB, so it needs a disk with 720 MB free.
  max_bytes: 512 * 1024 * 1024,
  // If a publisher misses an acknowledgement and publishes an event again within 10 s, the stream drops the
  // second message. The outbox also waits 10 s before it first checks whether the event was stored. A later
  // duplicate does no harm, because consumers drop duplicates by event id.
  duplicate_window: 10 * 1_000_000_000,
}

/**
 * Returns the configuration with a number of replicas. If none is given, an existing stream keeps its
 * replicas, and a new stream has one.
 */
export const leadsStreamConfig = (replicas: number | undefined) => ({
  ...LEADS_STREAM_CONFIG,
  ...(replicas !== undefined && { num_replicas: replicas }),
})

/**
 * The durable consumers that all copies of webhook-service share. Notifications have a separate consumer,
 * so that a slow mail server does not hold up webhooks.
 */
export const WEBHOOK_CONSUMER = 'webhook-service'
export const NOTIFICATION_CONSUMER = 'webhook-service-notifications'
