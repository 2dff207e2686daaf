import {
  AccountsServiceDefinition,
  AttachmentsServiceDefinition,
  LeadsServiceDefinition,
} from '@leadwire/contracts'
import type { Database, GrpcServer, Logger } from '@leadwire/service-kit'
import { accountsService } from './accounts/accounts-service'
import { attachmentsService } from './attachments/attachments-service'
import { leadsService } from './leads/leads-service'
import type { Limits } from './leads/limits'
import type { OutboxEvent } from './outbox/record-events'

/** Adds everything leads-service answers to a server. */
export const addLeadsService = (
  server: GrpcServer,
  deps: {
    database: Database
    assetsUrl: string
    limits: Limits
    logger: Logger
    draining: AbortSignal
    onCommitted: (events: OutboxEvent[]) => void
  },
): void => {
  server.add(LeadsServiceDefinition, leadsService(deps))
  server.add(AccountsServiceDefinition, accountsService(deps))
  server.add(AttachmentsServiceDefinition, attachmentsService(deps))
}
