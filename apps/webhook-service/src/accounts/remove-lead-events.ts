import type { RemoveLeadEventsRequest, RemoveLeadEventsResponse, StreamMessage } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { isUuid } from '../uuid'
import { removeEvents } from './remove-events'

const OF_LEADS = `
  SELECT id, stream_sequence AS sequence FROM events WHERE lead_reference = ANY ($2::uuid[]) AND account_id = $1`

const findIn = async (
  database: Database,
  { accountId, leadReferences }: RemoveLeadEventsRequest,
): Promise<{ ids: string[]; messages: StreamMessage[] }> => {
  const events = await database.query<{ id: string; sequence: number | null }>({
    text: OF_LEADS,
    values: [accountId, leadReferences],
  })
  const ids = events.map(({ id }) => id)
  const messages = events.flatMap(({ id, sequence }) =>
    sequence === null ? [] : [{ eventId: id, sequence }],
  )
  return { ids, messages }
}

/** Removes the events of leads with their deliveries and attempts. Answers with where they are in the stream. Throws invalid. */
export const removeLeadEvents = async (
  {
    database,
    notifications,
    forgetMessages,
  }: {
    database: Database
    notifications: Database
    forgetMessages: (eventIds: string[]) => Promise<void>
  },
  request: RemoveLeadEventsRequest,
): Promise<RemoveLeadEventsResponse> => {
  if (!request.leadReferences.every(isUuid))
    throw ServiceError.invalid({ lead_references: ['must be UUIDs'] })
  const [webhooks, messages] = await Promise.all([findIn(database, request), findIn(notifications, request)])
  await forgetMessages(messages.ids)
  await removeEvents(database, webhooks.ids)
  await removeEvents(notifications, messages.ids)
  return { messages: [...webhooks.messages, ...messages.messages] }
}
