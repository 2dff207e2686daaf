import type { Database, OpenTransaction } from '@leadwire/service-kit'

/** A lead, as its events name it. */
export interface ErasedLead {
  accountId: number
  leadReference: string
}

/** Events that one transaction empties; each has a delivery for each endpoint. */
const PORTION = 20

const SELECT = `
  SELECT id, body FROM events
  WHERE lead_reference = $2 AND account_id = $1 AND erased_at IS NULL ORDER BY id LIMIT ${PORTION} FOR UPDATE`

const EMPTY = `
  UPDATE events SET body = e.body, traceparent = NULL, erased_at = clock_timestamp()
  FROM unnest($1::uuid[], $2::bytea[]) AS e (id, body) WHERE events.id = e.id`

// An attempt that is under way loses its claim: what it comes to, the response above all, is not recorded. One that is
// exhausted is cancelled too, since it could be attempted again. In the order of ids, as whoever locks many deliveries does.
const CANCEL = `
  WITH of_events AS (
    SELECT id FROM deliveries WHERE event_id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE
  )
  UPDATE deliveries d SET
    status = CASE WHEN d.status = 'delivered' THEN d.status ELSE 'cancelled' END,
    next_attempt_at = NULL, by_hand_at = NULL, claim = NULL, claimed_until = NULL, updated_at = clock_timestamp()
  FROM of_events o WHERE d.id = o.id`

const FORGET_RESPONSES = `
  UPDATE attempts SET response = NULL
  WHERE delivery_id = ANY (ARRAY (SELECT id FROM deliveries WHERE event_id = ANY ($1::uuid[]))) AND response IS NOT NULL`

const BURY = `
  INSERT INTO events (id, account_id, account_key, lead_reference, body, erased_at)
  SELECT id, $1, '', $2, '', clock_timestamp() FROM unnest($3::uuid[]) AS id ORDER BY id
  ON CONFLICT (id) DO NOTHING`

const erasePortion = async (
  tx: OpenTransaction,
  { accountId, leadReference }: ErasedLead,
  redact: (body: Buffer) => Buffer,
): Promise<number> => {
  const events = await tx.query<{ id: string; body: Buffer }>({
    name: 'events-to-erase',
    text: SELECT,
    values: [accountId, leadReference],
  })
  const ids = events.map(({ id }) => id)
  tx.send({ name: 'empty-events', text: EMPTY, values: [ids, events.map(({ body }) => redact(body))] })
  tx.send({ name: 'cancel-deliveries-of-events', text: CANCEL, values: [ids] })
  tx.send({ name: 'forget-responses', text: FORGET_RESPONSES, values: [ids] })
  return ids.length
}

/**
 * Makes what `redact` leaves of the bodies of a lead's events, in the tables of one kind; cancels what is still to be sent, and
 * forgets the responses. `bury` are events that are not there: each is kept as an empty one, so that it is dropped should it
 * come.
 */
export const eraseEventsOfLead = async (
  database: Database,
  lead: ErasedLead,
  { redact, bury }: { redact: (body: Buffer) => Buffer; bury: string[] },
): Promise<void> => {
  if (bury.length > 0)
    await database.query({ text: BURY, values: [lead.accountId, lead.leadReference, bury] })
  let emptied: number
  do {
    emptied = await database.transaction((tx) => erasePortion(tx, lead, redact))
  } while (emptied === PORTION)
}
