import type {
  AccountsServiceClient,
  AccountsServiceImplementation,
  Actor,
  AttachmentsServiceClient,
  AttachmentsServiceImplementation,
  ImportsServiceClient,
  ImportsServiceImplementation,
  LeadsServiceClient,
  LeadsServiceImplementation,
  ReconciliationServiceClient,
  ReconciliationServiceImplementation,
} from '@leadwire/contracts'
import type { IndexDeps } from './jobs/search/index-leads'
import type { JsonSettings } from './leads/read/lead-response'

/** `database` is for this call alone, and `actor` is the caller. */
export interface Dependencies extends IndexDeps, JsonSettings {
  actor: Actor | undefined
  backupRetentionDays: number | undefined
}

type Client = AccountsServiceClient &
  AttachmentsServiceClient &
  ImportsServiceClient &
  LeadsServiceClient &
  ReconciliationServiceClient

export type Implementation = AccountsServiceImplementation &
  AttachmentsServiceImplementation &
  ImportsServiceImplementation &
  LeadsServiceImplementation &
  ReconciliationServiceImplementation

export type Operations = {
  [Name in keyof Client & keyof Implementation]: (
    deps: Dependencies,
    request: Parameters<Implementation[Name]>[0],
  ) => Promise<Awaited<ReturnType<Client[Name]>>>
}

export type Operation<Name extends keyof Operations> = Operations[Name]
