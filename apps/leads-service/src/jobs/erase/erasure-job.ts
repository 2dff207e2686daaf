import type { EraseLeadEventsRequest, EraseLeadEventsResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import type { Erasure } from './erasure'

/** What an erasure needs beyond this service's database. */
export interface PlaceDeps {
  database: Database
  deleteFiles: (keys: string[]) => Promise<void>
  webhooks: { eraseLeadEvents: (request: EraseLeadEventsRequest) => Promise<EraseLeadEventsResponse> }
  deleteMessage: DeleteMessage
}

/** Deletes a message from the stream, if it still is the event's. */
export type DeleteMessage = (message: { eventId: string; sequence: number }) => Promise<void>

/** An erasure that a process works on. */
export interface ErasureJob extends Erasure {
  /** Events in the stream, by their ids: a place adds what it learns. */
  messages: Map<string, number>
  /** When the newest event was stored whose position in the stream is unknown. */
  unplacedAt: string | null
  /** Whether everything in flight when the lead was erased has arrived, or never will. */
  arrived: boolean
}
