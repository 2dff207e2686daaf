import type { Database } from '@leadwire/service-kit'

const DELETE_ATTEMPTS = `
  DELETE FROM attempts WHERE delivery_id = ANY (ARRAY (SELECT id FROM deliveries WHERE event_id = ANY ($1::uuid[])))`

const DELETE_DELIVERIES = `
  DELETE FROM deliveries WHERE id = ANY (
    ARRAY (SELECT id FROM deliveries WHERE event_id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE)
  )`

const DELETE_EVENTS = 'DELETE FROM events WHERE id = ANY ($1::uuid[])'

/** Removes events with their deliveries and attempts. An attempt that is under way finds nothing to be recorded in. */
export const removeEvents = (database: Database, ids: string[]): Promise<void> =>
  database.transaction(async (tx) => {
    for (const text of [DELETE_ATTEMPTS, DELETE_DELIVERIES, DELETE_EVENTS]) tx.send({ text, values: [ids] })
  })
