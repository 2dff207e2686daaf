import type {
  HoldAccountRequest,
  RemoveAccountRequest,
  RemoveAccountResponse,
  RemoveLeadEventsRequest,
  RemoveLeadEventsResponse,
} from '@leadwire/contracts'
import type { Database, Logger } from '@leadwire/service-kit'

/** What the deletion of an account needs beyond this service's database. */
export interface DeletionDeps {
  database: Database
  deleteFiles: (keys: string[]) => Promise<void>
  /** webhook-service. */
  webhooks: {
    holdAccount: (request: HoldAccountRequest) => Promise<unknown>
    removeLeadEvents: (request: RemoveLeadEventsRequest) => Promise<RemoveLeadEventsResponse>
    removeAccount: (request: RemoveAccountRequest) => Promise<RemoveAccountResponse>
  }
  deleteMessage: (message: { eventId: string; sequence: number }) => Promise<void>
  logger: Logger
}
