import { isUuid } from '@leadwire/contracts'
import { statement } from '@leadwire/service-kit'
import type { Operation } from '../../operation'

const deleteRecords = statement('delete-dead-letters-of-events')`
  DELETE FROM dead_letters WHERE event_id = ANY ($1::uuid[])`

/** Deletes the dead letters of events that are to be published again. */
export const deleteDeadLetters: Operation<'deleteDeadLetters'> = async (
  { database, notifications },
  { eventIds },
) => {
  const ids = eventIds.filter(isUuid)
  await Promise.all([database, notifications].map((tables) => deleteRecords(tables, ids)))
  return {}
}
