import {
  AccountsServiceDefinition,
  AttachmentsServiceDefinition,
  LeadsServiceDefinition,
  leadJsonFormat,
} from '@leadwire/contracts'
import type { Database, GrpcServer, Logger } from '@leadwire/service-kit'
import { accountsService } from './accounts-service'
import { attachmentsService } from './attachments-service'
import type { Limits } from './leads/limits'
import { leadsService } from './leads-service'
import type { OutboxEvent } from './outbox/record-events'

/** Adds everything leads-service answers to a server. */
export const addLeadsService = (
  server: GrpcServer,
  deps: {
    database: Database
    /** Has no slash at its end. */
    assetsUrl: string
    /** Stands for another release's in specs. */
    jsonFormat?: number
    limits: Limits
    logger: Logger
    draining: AbortSignal
    onCommitted: (events: OutboxEvent[]) => void
  },
): void => {
  const { jsonFormat = leadJsonFormat(deps.assetsUrl) } = deps
  server.add(LeadsServiceDefinition, leadsService({ ...deps, jsonFormat }))
  server.add(AccountsServiceDefinition, accountsService(deps))
  server.add(AttachmentsServiceDefinition, attachmentsService(deps))
}
