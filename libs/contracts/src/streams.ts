export const LEADS_STREAM = {
  name: 'LEADS',
  subjects: { events: 'leads.events', notifications: 'notifications.requested' },
} as const

/** Core NATS, outside the stream: each message is the JSON array of the accounts whose log has new events. Losing one costs time alone. */
export const LOGGED_SUBJECT = 'log.stored'

/** The stream takes each id once: an event that is published again, after its message number `lost` was lost, has another. */
export const messageIdOf = (eventId: string, lost: number | null = null): string =>
  lost === null ? eventId : `${eventId}:${lost}`

export const eventIdOf = (messageId: string): string => messageId.split(':', 1)[0]!

/** A pipe: PostgreSQL keeps what the consumer has not stored, and the sweep publishes lost events again. The oldest goes first. */
export const LEADS_STREAM_CONFIG = {
  name: LEADS_STREAM.name,
  subjects: Object.values(LEADS_STREAM.subjects),
  retention: 'limits' as const,
  storage: 'file' as const,
  discard: 'old' as const,
  // In nanoseconds, as the window.
  max_age: 3600 * 1_000_000_000,
  // Some 400,000 ordinary events, or 500 of the largest. nats-server refuses a stream that may outgrow its own store, which
  // is three quarters of the free disk unless its configuration says otherwise: this fits a disk with 700 MB free.
  max_bytes: 512 * 1024 * 1024,
  // For a publisher that heard no acknowledgement and tries again. Consumers drop duplicates by event id anyway.
  duplicate_window: 10 * 1_000_000_000,
}

/** The same with a number of replicas. Without one the stream keeps what it has; a new one has one. */
export const leadsStreamConfig = (replicas: number | undefined) => ({
  ...LEADS_STREAM_CONFIG,
  ...(replicas !== undefined && { num_replicas: replicas }),
})

/** The durable consumers that all copies of webhook-service share. What waits for a mail server does not hold up webhooks. */
export const WEBHOOK_CONSUMER = 'webhook-service'
export const NOTIFICATION_CONSUMER = 'webhook-service-notifications'
