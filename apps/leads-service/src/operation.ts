import type * as contracts from '@leadwire/contracts'
import type { Sealer } from '@leadwire/service-kit'
import type { FiguresDeps } from './jobs/figures/count-leads'
import type { IndexDeps } from './jobs/search/index-leads'
import type { JsonSettings } from './leads/read/lead-response'
import type { Quotas } from './quotas/require-room'

/** The dependencies of an operation. `database` is for this call only. `actor` is the caller. */
export interface Dependencies extends IndexDeps, FiguresDeps, JsonSettings {
  actor: contracts.Actor | undefined
  backupRetentionDays: number | undefined
  quotas: Quotas
  sealer: Sealer
  webhooks: Pick<contracts.WebhooksServiceClient, 'listEventReceivers'>
}

type Client = contracts.AccountsServiceClient &
  contracts.AttachmentsServiceClient &
  contracts.FiguresServiceClient &
  contracts.ImportsServiceClient &
  contracts.LeadsServiceClient &
  contracts.ReconciliationServiceClient

export type Implementation = contracts.AccountsServiceImplementation &
  contracts.AttachmentsServiceImplementation &
  contracts.FiguresServiceImplementation &
  contracts.ImportsServiceImplementation &
  contracts.LeadsServiceImplementation &
  contracts.ReconciliationServiceImplementation

export type Operations = {
  [Name in keyof Client & keyof Implementation]: (
    deps: Dependencies,
    request: Parameters<Implementation[Name]>[0],
  ) => Promise<Awaited<ReturnType<Client[Name]>>>
}

export type Operation<Name extends keyof Operations> = Operations[Name]
