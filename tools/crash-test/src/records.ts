import { Client } from 'pg'
import type { Ground } from './ground'

/** The rows of an account in the databases. */
export interface Records {
  leads: { reference: string; eventId: string | null }[]
  /** The events in webhook-service, in the order of their numbers. */
  events: { id: string; number: number }[]
  deliveries: { id: string; eventId: string; status: string; attemptCount: number }[]
  attempts: RecordedAttempt[]
}

export interface RecordedAttempt {
  deliveryId: string
  eventId: string
  number: number
  /** Milliseconds since 1970. */
  from: number
  until: number
  /** null if there was no response. */
  status: number | null
  error: string | null
}

const query = async <Row extends object>(url: string, text: string, values: unknown[]): Promise<Row[]> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text, values)).rows
  } finally {
    await client.end()
  }
}

/** Reads the leads, events, deliveries and attempts of the account. */
export const readRecords = async ({ databaseUrl, accountId }: Ground): Promise<Records> => {
  const queryLeads = <Row extends object>(text: string) => query<Row>(databaseUrl('leads'), text, [accountId])
  const queryWebhooks = <Row extends object>(text: string) =>
    query<Row>(databaseUrl('webhooks'), text, [accountId])
  const [leads, events, deliveries, attempts] = await Promise.all([
    queryLeads<Records['leads'][number]>(
      'SELECT reference, event_id AS "eventId" FROM leads WHERE account_id = $1',
    ),
    queryWebhooks<Records['events'][number]>(
      'SELECT id, number::int FROM events WHERE account_id = $1 ORDER BY number',
    ),
    queryWebhooks<Records['deliveries'][number]>(
      `SELECT id, event_id AS "eventId", status, attempt_count AS "attemptCount"
       FROM deliveries WHERE account_id = $1`,
    ),
    queryWebhooks<RecordedAttempt>(
      `SELECT d.id AS "deliveryId", d.event_id AS "eventId", a.number, a.status, a.error,
         extract(epoch FROM started_at)::float8 * 1000 AS "from",
         extract(epoch FROM started_at)::float8 * 1000 + duration_ms AS until
       FROM deliveries d JOIN attempts a ON a.delivery_id = d.id WHERE d.account_id = $1
       ORDER BY d.id, a.number`,
    ),
  ])
  return { leads, events, deliveries, attempts }
}

/** Whether the outbox is empty and no delivery is pending. */
export const isQuiet = async ({ databaseUrl, accountId }: Ground): Promise<boolean> => {
  const unpublished = 'SELECT FROM outbox WHERE account_id = $1 LIMIT 1'
  const pending = `SELECT FROM deliveries WHERE account_id = $1 AND status = 'pending' LIMIT 1`
  const [outbox, deliveries] = await Promise.all([
    query(databaseUrl('leads'), unpublished, [accountId]),
    query(databaseUrl('webhooks'), pending, [accountId]),
  ])
  return outbox.length + deliveries.length === 0
}
