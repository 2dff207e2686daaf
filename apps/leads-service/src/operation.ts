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
import type { RecordingDeps } from './outbox/record-events'

/** `database` is for this call alone, and `actor` is the caller. */
export interface Dependencies extends RecordingDeps {
  actor: Actor | undefined
  /** Where images are served, without a slash at its end. */
  assetsUrl: string
  /** `leadJsonFormat` of it. */
  jsonFormat: number
  /** How long before a lead another one of the same person was created at most; 0: none is reported. */
  duplicateWindowMs: number
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
