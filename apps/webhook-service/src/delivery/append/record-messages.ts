import { type EventMessage, statement, type Transaction } from '@leadwire/service-kit'

// Makes the commit wait for the disk (`synchronous_commit`), because an erasure could not delete a message
// whose number was lost.
const insertMessages = statement('insert-event-messages')`
  INSERT INTO public.event_messages (event_id, stream_sequence)
  SELECT m.event_id, m.sequence
  FROM set_config('synchronous_commit', 'on', true), unnest($1::uuid[], $2::bigint[]) AS m (event_id, sequence)
  WHERE (SELECT stream_sequence FROM events WHERE id = m.event_id) IS DISTINCT FROM m.sequence
  ORDER BY 1, 2
  ON CONFLICT DO NOTHING`

const findErased = statement<{ id: string }>('find-erased-events')`
  SELECT id FROM events WHERE id = ANY ($1::uuid[]) AND erased_at IS NOT NULL`

/**
 * Records the sequence numbers of messages whose events are already stored or are invalid. Resolves with the
 * ids of the erased events. The caller must delete the messages of erased events from the stream. If one of
 * the other events is erased later, that erasure deletes its recorded messages.
 *
 * The order matters. An erasure marks events as erased before it reads the numbers, and this function writes
 * the numbers before it reads which events are erased. So either the erasure or the caller of this function
 * finds the message and deletes it.
 */
export const recordMessages = async (
  database: Transaction,
  messages: EventMessage[],
): Promise<Set<string>> => {
  if (messages.length === 0) return new Set()
  const eventIds = messages.map(({ eventId }) => eventId)
  await insertMessages(
    database,
    eventIds,
    messages.map(({ sequence }) => sequence),
  )
  const erased = await findErased(database, eventIds)
  return new Set(erased.map(({ id }) => id))
}
