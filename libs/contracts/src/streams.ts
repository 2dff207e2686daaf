const SECOND_NS = 1_000_000_000

/** The JetStream stream that carries every lead event, with the subject of each. */
export const LEADS_STREAM = {
  name: 'LEADS',
  subjects: { leadCreated: 'leads.created' },
} as const

/**
 * The stream as publisher and consumer both make it when it is missing, so that it is the same whoever comes first.
 * It is a carrier, not a store: PostgreSQL keeps what is not yet delivered, so a week is ample.
 */
export const LEADS_STREAM_CONFIG = {
  name: LEADS_STREAM.name,
  subjects: Object.values(LEADS_STREAM.subjects),
  retention: 'limits' as const,
  storage: 'file' as const,
  max_age: 7 * 24 * 3600 * SECOND_NS,
  duplicate_window: 120 * SECOND_NS,
}

/** The largest event that is made: nats-server's `max_payload` of 8 MiB, with room for the headers and the trace. */
export const MAX_EVENT_BYTES = 8_000_000

/** The durable consumer that all copies of webhook-service share. */
export const WEBHOOK_CONSUMER = 'webhook-service'
