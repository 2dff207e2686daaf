import {
  AccountsServiceDefinition,
  AttachmentsServiceDefinition,
  AuditServiceDefinition,
  CreateTokenResponse,
  CreateUserCalendarResponse,
  CreateUserResponse,
  FiguresServiceDefinition,
  ImportsServiceDefinition,
  LeadsServiceDefinition,
  leadJsonFormat,
  ReconciliationServiceDefinition,
} from '@leadwire/contracts'
import {
  answerEach,
  answerOnce,
  auditService,
  type Codec,
  createTurns,
  type GrpcServer,
  type RunInTurn,
  readActor,
} from '@leadwire/service-kit'
import type { CallContext } from 'nice-grpc'
import * as accounts from './accounts/accounts'
import { attachFile, listAttachments, retrieveAttachment } from './attachments/attachments'
import { countCapturedBytes } from './attachments/count-captured-bytes'
import { retrieveFigures } from './figures/retrieve-figures'
import { createImage } from './images/images'
import { deleteAccount, retrieveAccountDeletion } from './jobs/delete/delete-account'
import { eraseLead } from './jobs/erase/erase-lead'
import { retrieveErasure } from './jobs/erase/retrieve-erasure'
import { checkFigures } from './jobs/figures/check-figures'
import { rebuildFigures } from './jobs/figures/rebuild-figures'
import { advanceImport } from './jobs/import/advance-import'
import { claimImport, releaseImport } from './jobs/import/claim-import'
import { createImport } from './jobs/import/create-import'
import {
  cancelImport,
  listFailedRows,
  listImportErrors,
  listImports,
  retrieveImport,
} from './jobs/import/imports'
import type { ReconcileDeps } from './jobs/reconcile/check-leads'
import { reconcile } from './jobs/reconcile/reconcile'
import { retrieveReconciliation } from './jobs/reconcile/unexplained'
import { endLeadRetention, retrieveLeadRetention, setLeadRetention } from './jobs/retention/lead-retention'
import { createLeads } from './leads/create/create-leads'
import { updateLeadsInBulk } from './leads/create/update-leads-in-bulk'
import { updateManagedLead } from './leads/create/update-managed-lead'
import { upsertLead } from './leads/create/upsert-lead'
import { writeLeadBatch } from './leads/create/write-lead-batch'
import type { WriteLeadsDeps } from './leads/create/write-new-leads'
import { listLeadDuplicates } from './leads/duplicates/list-lead-duplicates'
import { markLeadDuplicate } from './leads/duplicates/mark-lead-duplicate'
import { listLeadHistory } from './leads/history/list-lead-history'
import { retrieveLeadMatch } from './leads/history/retrieve-lead-match'
import { updateLead } from './leads/history/update-lead'
import { exportLeads } from './leads/list/export-leads'
import { findLeads } from './leads/list/find-leads'
import { findPersonLeads } from './leads/list/find-person-leads'
import { listLeads } from './leads/list/list-leads'
import { addNote, deleteNote, listNotes, updateNote } from './leads/notes/notes'
import { findLeadNames } from './leads/read/find-lead-names'
import { retrieveLeads } from './leads/read/retrieve-leads'
import { retrieveManagedLead } from './leads/read/retrieve-managed-lead'
import type { Dependencies, Implementation, Operations } from './operation'
import { type RetryDeps, retryRefusedEvents } from './outbox/retry-refused-events'
import { findCalendar, listCalendarEntries } from './scheduling/calendars'
import * as changes from './scheduling/change-entry'
import { listSchedule } from './scheduling/list-schedule'
import { listAppointments, listCallbacks, scheduleAppointment, scheduleCallback } from './scheduling/schedule'
import { endSessions, listSessions, openSignInLink } from './sign-in/sessions'
import { createSignInLink, sendSignInLinks } from './sign-in/sign-in-links'
import { revokeToken } from './tokens/revoke-token'
import { createToken, findOrigin, listTokens, openPortalLink, verifyTokens } from './tokens/tokens'
import { signInByEmail } from './users/sign-in-by-email'
import * as users from './users/users'
import { deleteView, listViews, saveView } from './users/views'

type Deps = Omit<Dependencies, 'actor'> &
  WriteLeadsDeps &
  ReconcileDeps &
  RetryDeps & {
    draining: AbortSignal
    wakeErasures?: () => void
  }

/**
 * The maximum number of batches in flight for each kind of read: retrieves, list pages and token
 * verifications. These three kinds therefore use at most six connections. Batches of creates use at most
 * three (`create-leads.ts`). One of the default ten connections stays free for other calls, however many
 * gateways there are.
 */
const READ_BATCHES_AT_ONCE = 2
/**
 * The maximum number of long reads in flight. A long read may read thousands of leads, so more long reads
 * would slow down creates. One account may have at most two long reads in flight, so that its slow reads do
 * not delay other accounts.
 */
const LONG_READS_AT_ONCE = 3
const LONG_READS_OF_ACCOUNT = 2
/**
 * The maximum number of upserts and of other changes of external ids in flight. Each holds its connection
 * while it waits for another with the same external id. Without this limit, they could take all connections.
 */
const UPSERTS_AT_ONCE = 2
const LEAD_BATCHES_AT_ONCE = 2

/**
 * Makes a method of a gRPC service from an operation. The `database` of the operation is limited to one call:
 * it refuses statements after the caller has disconnected or timed out. If `response` is given, the operation
 * runs only once for each idempotency key. `response` is the codec of the saved responses.
 */
const perCall =
  <Deps extends Omit<Dependencies, 'actor'>, Request, Response>(
    deps: Deps,
    operation: (deps: Deps & Dependencies, request: Request) => Promise<Response>,
    response?: Codec<Response>,
  ) =>
  async (
    request: Request,
    context: Pick<CallContext, 'signal' | 'metadata' | 'header'>,
  ): Promise<Response> => {
    const { sealer } = deps
    const actor = readActor(context.metadata)
    const once = { database: deps.database.until(context.signal), sealer, response }
    return answerOnce(context, once, (database) => operation({ ...deps, database, actor }, request))
  }

/** Lets the calls of a method wait in a fair queue, in which accounts alternate. */
const inTurn =
  <Request extends { accountId: number }, Context, Response>(
    runInTurn: RunInTurn,
    method: (request: Request, context: Context) => Promise<Response>,
  ) =>
  (request: Request, context: Context): Promise<Response> =>
    runInTurn(request.accountId, () => method(request, context))

/** Serves each operation as the gRPC method of the same name. */
const perCalls = <Name extends keyof Operations>(
  deps: Deps,
  operations: Pick<Operations, Name>,
): Pick<Implementation, Name> => {
  const methods = Object.entries<(deps: Dependencies, request: never) => Promise<unknown>>(operations)
  const served = methods.map(([name, operation]) => [name, perCall(deps, operation)])
  return Object.fromEntries(served)
}

/** Adds all gRPC services of leads-service to a server. Specs pass the `jsonFormat` of another release. */
export const addLeadsService = (
  server: GrpcServer,
  { jsonFormat, ...given }: Omit<Deps, 'jsonFormat'> & { jsonFormat?: number },
): void => {
  const deps = { ...given, jsonFormat: jsonFormat ?? leadJsonFormat(given.assetsUrl) }
  const { draining, meters, wakeErasures } = deps
  const longReads = createTurns(LONG_READS_AT_ONCE, meters?.('long_reads'), LONG_READS_OF_ACCOUNT)
  const upserts = createTurns(UPSERTS_AT_ONCE, meters?.('upserts'))
  const leadBatches = createTurns(LEAD_BATCHES_AT_ONCE, meters?.('lead_batches'))
  const retrieves = createTurns(READ_BATCHES_AT_ONCE, meters?.('retrieve'))
  const pages = createTurns(READ_BATCHES_AT_ONCE, meters?.('list'))
  const verifications = createTurns(READ_BATCHES_AT_ONCE, meters?.('verify_token'))
  server.add(LeadsServiceDefinition, {
    ...perCalls(deps, { updateLead, listLeadHistory, retrieveErasure, findLeadNames }),
    ...perCalls(deps, { retrieveLeadMatch, retrieveManagedLead, listLeadDuplicates, markLeadDuplicate }),
    ...perCalls(deps, { scheduleAppointment, scheduleCallback, listAppointments, listCallbacks }),
    ...perCalls(deps, { ...changes, listSchedule, findCalendar }),
    ...perCalls(deps, { addNote, listNotes, updateNote, deleteNote }),
    createLeads: answerEach(createLeads(deps), draining),
    retrieveLeads: answerEach(retrieveLeads(deps, retrieves), draining),
    listLeads: answerEach(listLeads(deps, pages), draining),
    upsertLead: inTurn(upserts, perCall(deps, upsertLead)),
    updateManagedLead: inTurn(upserts, perCall(deps, updateManagedLead)),
    updateLeadsInBulk: inTurn(leadBatches, perCall(deps, updateLeadsInBulk)),
    findLeads: inTurn(longReads, perCall(deps, findLeads)),
    exportLeads: inTurn(longReads, perCall(deps, exportLeads)),
    findPersonLeads: inTurn(longReads, perCall(deps, findPersonLeads)),
    listCalendarEntries: inTurn(longReads, perCall(deps, listCalendarEntries)),
    eraseLead: async (...call) => {
      const receipt = await perCall(deps, eraseLead)(...call)
      wakeErasures?.()
      return receipt
    },
  })
  server.add(AccountsServiceDefinition, {
    ...perCalls(deps, { ...accounts, deleteAccount, retrieveAccountDeletion }),
    ...perCalls(deps, { findOrigin, listTokens, revokeToken, openPortalLink, ...users }),
    ...perCalls(deps, { createSignInLink, sendSignInLinks, signInByEmail, openSignInLink }),
    ...perCalls(deps, { listSessions, endSessions }),
    ...perCalls(deps, { listViews, saveView, deleteView }),
    ...perCalls(deps, { retrieveLeadRetention, endLeadRetention }),
    setLeadRetention: inTurn(longReads, perCall(deps, setLeadRetention)),
    createToken: perCall(deps, createToken, CreateTokenResponse),
    createUser: perCall(deps, users.createUser, CreateUserResponse),
    createUserCalendar: perCall(deps, users.createUserCalendar, CreateUserCalendarResponse),
    verifyTokens: answerEach(verifyTokens(deps, verifications), draining),
  })
  server.add(AttachmentsServiceDefinition, {
    ...perCalls(deps, { attachFile, retrieveAttachment, listAttachments, createImage, countCapturedBytes }),
  })
  server.add(ImportsServiceDefinition, {
    ...perCalls(deps, {
      createImport,
      retrieveImport,
      listImports,
      cancelImport,
      listImportErrors,
      listFailedRows,
    }),
    ...perCalls(deps, { claimImport, releaseImport }),
    advanceImport: perCall(deps, advanceImport),
    writeLeadBatch: inTurn(leadBatches, perCall(deps, writeLeadBatch)),
  })
  server.add(FiguresServiceDefinition, {
    ...perCalls(deps, { checkFigures, rebuildFigures }),
    retrieveFigures: inTurn(longReads, perCall(deps, retrieveFigures)),
  })
  server.add(ReconciliationServiceDefinition, {
    ...perCalls(deps, { retrieveReconciliation }),
    reconcile: perCall(deps, reconcile),
    retryRefusedEvents: perCall(deps, retryRefusedEvents),
  })
  server.add(AuditServiceDefinition, auditService(deps))
}
