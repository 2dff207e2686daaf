/** The JetStream stream that carries every lead event, with the subject of each. */
export const LEADS_STREAM = {
  name: 'LEADS',
  subjects: { leadCreated: 'leads.created' },
} as const

/** The durable consumer that all copies of webhook-service share. */
export const WEBHOOK_CONSUMER = 'webhook-service'
