import {
  AccountsServiceDefinition,
  AttachmentsServiceDefinition,
  AuditServiceDefinition,
  CreateTokenResponse,
  CreateUserCalendarResponse,
  CreateUserResponse,
  ImportsServiceDefinition,
  LeadsServiceDefinition,
  leadJsonFormat,
  ReconciliationServiceDefinition,
} from '@leadwire/contracts'
import { answerEach, auditService, type GrpcServer, type Sealer } from '@leadwire/service-kit'
import * as accounts from './accounts/accounts'
import { attachFile, listAttachments, retrieveAttachment } from './attachments/attachments'
import {
  claimIdempotencyKey,
  releaseIdempotencyKey,
  renewIdempotencyKey,
} from './idempotency/idempotency-keys'
import { createImage } from './images/images'
import { deleteAccount, retrieveAccountDeletion } from './jobs/delete/delete-account'
import { eraseLead } from './jobs/erase/erase-lead'
import { retrieveErasure } from './jobs/erase/retrieve-erasure'
import { advanceImport } from './jobs/import/advance-import'
import { claimImport, releaseImport } from './jobs/import/claim-import'
import { createImport } from './jobs/import/create-import'
import { cancelImport, listImportFaults, listImports, retrieveImport } from './jobs/import/imports'
import type { ReconcileDeps } from './jobs/reconcile/check-leads'
import { reconcile } from './jobs/reconcile/reconcile'
import { retrieveReconciliation } from './jobs/reconcile/unexplained'
import { type CreateLeadsDeps, createLeads } from './leads/create/create-leads'
import { checkReferences } from './leads/create/references'
import { createWriteLeadBatch } from './leads/create/write-lead-batch'
import { listLeadDuplicates } from './leads/duplicates/list-lead-duplicates'
import { markLeadDuplicate } from './leads/duplicates/mark-lead-duplicate'
import { listLeadHistory } from './leads/history/list-lead-history'
import { retrieveLeadMatch } from './leads/history/retrieve-lead-match'
import { updateLead } from './leads/history/update-lead'
import { exportLeads } from './leads/list/export-leads'
import { findLeads } from './leads/list/find-leads'
import { findPersonLeads } from './leads/list/find-person-leads'
import { listLeads } from './leads/list/list-leads'
import { findLeadNames } from './leads/read/find-lead-names'
import { retrieveLeads } from './leads/read/retrieve-leads'
import { retrieveManagedLead } from './leads/read/retrieve-managed-lead'
import type { Dependencies, Implementation, Operations } from './operation'
import { findCalendar, listCalendarEntries } from './scheduling/calendars'
import * as changes from './scheduling/change-entry'
import { listAppointments, listCallbacks, scheduleAppointment, scheduleCallback } from './scheduling/schedule'
import { createFairCalls, perCall } from './serve-calls'
import {
  createToken,
  findOrigin,
  listTokens,
  openPortalLink,
  revokeToken,
  verifyTokens,
} from './tokens/tokens'
import * as users from './users/users'

type Deps = Omit<Dependencies, 'actor'> &
  CreateLeadsDeps &
  ReconcileDeps & {
    draining: AbortSignal
    sealer: Sealer
    wakeErasures?: () => void
  }

/** Operations as the methods of their names. */
const perCalls = <Name extends keyof Operations>(
  deps: Deps,
  operations: Pick<Operations, Name>,
): Pick<Implementation, Name> => {
  const methods = Object.entries<(deps: Dependencies, request: never) => Promise<unknown>>(operations)
  const served = methods.map(([name, operation]) => [name, perCall(deps, operation)])
  return Object.fromEntries(served)
}

/** Adds everything leads-service answers to a server. `jsonFormat` stands for another release's in specs. */
export const addLeadsService = (
  server: GrpcServer,
  { jsonFormat, ...given }: Omit<Deps, 'jsonFormat'> & { jsonFormat?: number },
): void => {
  const deps = { ...given, jsonFormat: jsonFormat ?? leadJsonFormat(given.assetsUrl) }
  const { draining, meters, wakeErasures } = deps
  const fairly = createFairCalls(meters?.('long_reads'))
  const writeLeadBatch = createWriteLeadBatch(deps)
  server.add(LeadsServiceDefinition, {
    ...perCalls(deps, { updateLead, listLeadHistory, retrieveErasure, findLeadNames }),
    ...perCalls(deps, { retrieveLeadMatch, retrieveManagedLead, listLeadDuplicates, markLeadDuplicate }),
    ...perCalls(deps, { scheduleAppointment, scheduleCallback, listAppointments, listCallbacks }),
    ...perCalls(deps, { ...changes, findCalendar, checkReferences }),
    createLeads: answerEach(createLeads(deps), draining),
    retrieveLeads: answerEach(retrieveLeads(deps), draining),
    listLeads: answerEach(listLeads(deps), draining),
    findLeads: fairly(perCall(deps, findLeads)),
    exportLeads: fairly(perCall(deps, exportLeads)),
    findPersonLeads: fairly(perCall(deps, findPersonLeads)),
    listCalendarEntries: fairly(perCall(deps, listCalendarEntries)),
    eraseLead: async (...call) => {
      const receipt = await perCall(deps, eraseLead)(...call)
      wakeErasures?.()
      return receipt
    },
  })
  server.add(AccountsServiceDefinition, {
    ...perCalls(deps, { ...accounts, deleteAccount, retrieveAccountDeletion }),
    ...perCalls(deps, { findOrigin, listTokens, revokeToken, openPortalLink, ...users }),
    createToken: perCall(deps, createToken, CreateTokenResponse),
    createUser: perCall(deps, users.createUser, CreateUserResponse),
    createUserCalendar: perCall(deps, users.createUserCalendar, CreateUserCalendarResponse),
    verifyTokens: answerEach(verifyTokens(deps), draining),
  })
  // The records of stored bytes, and the keys that are held while bytes are on their way.
  server.add(AttachmentsServiceDefinition, {
    ...perCalls(deps, { attachFile, retrieveAttachment, listAttachments, createImage }),
    ...perCalls(deps, { claimIdempotencyKey, renewIdempotencyKey, releaseIdempotencyKey }),
  })
  server.add(ImportsServiceDefinition, {
    ...perCalls(deps, { createImport, retrieveImport, listImports, cancelImport, listImportFaults }),
    ...perCalls(deps, { claimImport, releaseImport }),
    advanceImport: perCall(deps, advanceImport),
    writeLeadBatch: perCall(deps, (given, request) => writeLeadBatch(given)(request)),
  })
  server.add(ReconciliationServiceDefinition, {
    ...perCalls(deps, { retrieveReconciliation }),
    reconcile: perCall(deps, reconcile),
  })
  server.add(AuditServiceDefinition, auditService(deps))
}
