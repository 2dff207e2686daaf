import {
  AccountsServiceDefinition,
  type AccountsServiceImplementation,
  AttachmentsServiceDefinition,
  type AttachmentsServiceImplementation,
  AuditServiceDefinition,
  CreateTokenResponse,
  CreateUserResponse,
  ImportsServiceDefinition,
  type ImportsServiceImplementation,
  LeadsServiceDefinition,
  type LeadsServiceImplementation,
  leadJsonFormat,
  ReconciliationServiceDefinition,
} from '@leadwire/contracts'
import { answerEach, auditService, type GrpcServer, type Sealer } from '@leadwire/service-kit'
import { createAccount } from './accounts/create-account'
import { listAccounts } from './accounts/list-accounts'
import { resumeAccount } from './accounts/resume-account'
import { retrieveAccount } from './accounts/retrieve-account'
import { suspendAccount } from './accounts/suspend-account'
import { updateAccount } from './accounts/update-account'
import { attachFile } from './attachments/attach-file'
import { listAttachments } from './attachments/list-attachments'
import { retrieveAttachment } from './attachments/retrieve-attachment'
import { claimKey, releaseKey, renewKey } from './idempotency/idempotency-keys'
import { createImage } from './images/create-image'
import { deleteAccount } from './jobs/delete/delete-account'
import { retrieveAccountDeletion } from './jobs/delete/retrieve-account-deletion'
import { eraseLead } from './jobs/erase/erase-lead'
import { retrieveErasure } from './jobs/erase/retrieve-erasure'
import { advanceImport } from './jobs/import/advance-import'
import { cancelImport } from './jobs/import/cancel-import'
import { claimImport } from './jobs/import/claim-import'
import { createImport } from './jobs/import/create-import'
import { listImportFaults } from './jobs/import/list-import-faults'
import { listImports } from './jobs/import/list-imports'
import { releaseImport } from './jobs/import/release-import'
import { retrieveImport } from './jobs/import/retrieve-import'
import { reconcile } from './jobs/reconcile/reconcile'
import type { ReconcileDeps } from './jobs/reconcile/reconcile-deps'
import { retrieveReconciliation } from './jobs/reconcile/retrieve-reconciliation'
import { checkReferences } from './leads/create/check-references'
import { type CreateLeadsDeps, createLeads } from './leads/create/create-leads'
import { listLeadHistory } from './leads/history/list-lead-history'
import { updateLead } from './leads/history/update-lead'
import { exportLeads } from './leads/list/export-leads'
import { findLeads } from './leads/list/find-leads'
import { findPersonLeads } from './leads/list/find-person-leads'
import { listLeads } from './leads/list/list-leads'
import { retrieveLeads } from './leads/read/retrieve-leads'
import { listAppointments } from './scheduling/list-appointments'
import { listCallbacks } from './scheduling/list-callbacks'
import { scheduleAppointment } from './scheduling/schedule-appointment'
import { scheduleCallback } from './scheduling/schedule-callback'
import { createFairCalls, perCall, perKeyedCall } from './serve-calls'
import { createToken } from './tokens/create-token'
import { listTokens } from './tokens/list-tokens'
import { revokeToken } from './tokens/revoke-token'
import { verifyTokens } from './tokens/verify-tokens'
import { createUser } from './users/create-user'
import { listUsers } from './users/list-users'
import { removeUser } from './users/remove-user'
import { retrieveUser } from './users/retrieve-user'
import { updateUser } from './users/update-user'

type Deps = CreateLeadsDeps &
  ReconcileDeps & {
    draining: AbortSignal
    backupRetentionDays: number | undefined
    sealer: Sealer
    wakeErasures?: () => void
  }

/** Each reads up to thousands of leads; with more of them at once creates would wait for PostgreSQL. */
const READS_AT_ONCE = 3

const leadsService = (deps: Deps): LeadsServiceImplementation => {
  const fairly = createFairCalls(READS_AT_ONCE, deps.meters?.('long_reads'))
  return {
    retrieveLeads: answerEach(retrieveLeads(deps), deps.draining),
    listLeads: answerEach(listLeads(deps), deps.draining),
    findLeads: fairly(perCall(deps, findLeads)),
    createLeads: answerEach(createLeads(deps), deps.draining),
    updateLead: perCall(deps, updateLead),
    scheduleAppointment: perCall(deps, scheduleAppointment),
    scheduleCallback: perCall(deps, scheduleCallback),
    checkReferences: perCall(deps, checkReferences),
    listAppointments: perCall(deps, listAppointments),
    listCallbacks: perCall(deps, listCallbacks),
    listLeadHistory: perCall(deps, listLeadHistory),
    exportLeads: fairly(perCall(deps, exportLeads)),
    eraseLead: async (...call) => {
      const receipt = await perCall(deps, eraseLead)(...call)
      deps.wakeErasures?.()
      return receipt
    },
    retrieveErasure: perCall(deps, retrieveErasure),
    findPersonLeads: fairly(perCall(deps, findPersonLeads)),
  }
}

const accountsService = (deps: Deps): AccountsServiceImplementation => ({
  createAccount: perCall(deps, createAccount),
  listAccounts: perCall(deps, listAccounts),
  retrieveAccount: perCall(deps, retrieveAccount),
  suspendAccount: perCall(deps, suspendAccount),
  resumeAccount: perCall(deps, resumeAccount),
  deleteAccount: perCall(deps, deleteAccount),
  retrieveAccountDeletion: perCall(deps, retrieveAccountDeletion),
  updateAccount: perCall(deps, updateAccount),
  verifyTokens: answerEach(verifyTokens(deps), deps.draining),
  listTokens: perCall(deps, listTokens),
  createToken: perKeyedCall(deps, createToken, CreateTokenResponse),
  revokeToken: perCall(deps, revokeToken),
  listUsers: perCall(deps, listUsers),
  createUser: perKeyedCall(deps, createUser, CreateUserResponse),
  retrieveUser: perCall(deps, retrieveUser),
  updateUser: perCall(deps, updateUser),
  removeUser: perCall(deps, removeUser),
})

/** The records of stored bytes, and the keys that are held while bytes are on their way. */
const attachmentsService = (deps: Deps): AttachmentsServiceImplementation => ({
  claimIdempotencyKey: claimKey(deps),
  renewIdempotencyKey: renewKey(deps),
  releaseIdempotencyKey: releaseKey(deps),
  attachFile: perCall(deps, attachFile),
  retrieveAttachment: perCall(deps, retrieveAttachment),
  createImage: perCall(deps, createImage),
  listAttachments: perCall(deps, listAttachments),
})

const importsService = (deps: Deps): ImportsServiceImplementation => ({
  createImport: perCall(deps, createImport),
  retrieveImport: perCall(deps, retrieveImport),
  listImports: perCall(deps, listImports),
  cancelImport: perCall(deps, cancelImport),
  listImportFaults: perCall(deps, listImportFaults),
  claimImport: perCall(deps, claimImport),
  advanceImport: perCall(deps, advanceImport),
  releaseImport: perCall(deps, releaseImport),
})

/** Adds everything leads-service answers to a server. `jsonFormat` stands for another release's in specs. */
export const addLeadsService = (
  server: GrpcServer,
  { jsonFormat, ...given }: Omit<Deps, 'jsonFormat'> & { jsonFormat?: number },
): void => {
  const deps = { ...given, jsonFormat: jsonFormat ?? leadJsonFormat(given.assetsUrl) }
  server.add(LeadsServiceDefinition, leadsService(deps))
  server.add(AccountsServiceDefinition, accountsService(deps))
  server.add(AttachmentsServiceDefinition, attachmentsService(deps))
  server.add(ImportsServiceDefinition, importsService(deps))
  server.add(ReconciliationServiceDefinition, {
    reconcile: perCall(deps, reconcile),
    retrieveReconciliation: perCall(deps, retrieveReconciliation),
  })
  server.add(AuditServiceDefinition, auditService(deps))
}
