import {
  AccountsServiceDefinition,
  type AccountsServiceImplementation,
  AttachmentsServiceDefinition,
  type AttachmentsServiceImplementation,
  AuditServiceDefinition,
  LeadsServiceDefinition,
  type LeadsServiceImplementation,
  leadJsonFormat,
} from '@leadwire/contracts'
import { answerEach, auditService, type GrpcServer, perCall } from '@leadwire/service-kit'
import { createAccount } from './accounts/create-account'
import { createToken } from './accounts/create-token'
import { createUser } from './accounts/create-user'
import { listAccounts } from './accounts/list-accounts'
import { listTokens } from './accounts/list-tokens'
import { listUsers } from './accounts/list-users'
import { removeUser } from './accounts/remove-user'
import { retrieveAccount } from './accounts/retrieve-account'
import { retrieveUser } from './accounts/retrieve-user'
import { revokeToken } from './accounts/revoke-token'
import { updateUser } from './accounts/update-user'
import { verifyTokens } from './accounts/verify-tokens'
import { attachFile } from './attachments/attach-file'
import { listAttachments } from './attachments/list-attachments'
import { retrieveAttachment } from './attachments/retrieve-attachment'
import { claimKey, releaseKey } from './idempotency/idempotency-keys'
import { createImage } from './images/create-image'
import { checkReferences } from './leads/check-references'
import { type CreateLeadsDeps, createLeads } from './leads/create-leads'
import { listLeadHistory } from './leads/list-lead-history'
import { listLeads } from './leads/list-leads'
import { retrieveLeads } from './leads/retrieve-leads'
import { updateLead } from './leads/update-lead'
import { listAppointments } from './scheduling/list-appointments'
import { listCallbacks } from './scheduling/list-callbacks'
import { scheduleAppointment } from './scheduling/schedule-appointment'
import { scheduleCallback } from './scheduling/schedule-callback'

type Deps = CreateLeadsDeps & { draining: AbortSignal }

const leadsService = (deps: Deps): LeadsServiceImplementation => ({
  retrieveLeads: answerEach(retrieveLeads(deps), deps.draining),
  listLeads: answerEach(listLeads(deps), deps.draining),
  createLeads: answerEach(createLeads(deps), deps.draining),
  updateLead: perCall(deps, updateLead),
  scheduleAppointment: perCall(deps, scheduleAppointment),
  scheduleCallback: perCall(deps, scheduleCallback),
  checkReferences: perCall(deps, checkReferences),
  listAppointments: perCall(deps, listAppointments),
  listCallbacks: perCall(deps, listCallbacks),
  listLeadHistory: perCall(deps, listLeadHistory),
})

const accountsService = (deps: Deps): AccountsServiceImplementation => ({
  createAccount: perCall(deps, createAccount),
  listAccounts: perCall(deps, listAccounts),
  retrieveAccount: perCall(deps, retrieveAccount),
  verifyTokens: answerEach(verifyTokens(deps), deps.draining),
  listTokens: perCall(deps, listTokens),
  createToken: perCall(deps, createToken),
  revokeToken: perCall(deps, revokeToken),
  listUsers: perCall(deps, listUsers),
  createUser: perCall(deps, createUser),
  retrieveUser: perCall(deps, retrieveUser),
  updateUser: perCall(deps, updateUser),
  removeUser: perCall(deps, removeUser),
})

/** The records of stored bytes, and the keys that are held while bytes are on their way. */
const attachmentsService = (deps: Deps): AttachmentsServiceImplementation => ({
  claimIdempotencyKey: claimKey(deps),
  releaseIdempotencyKey: releaseKey(deps),
  attachFile: perCall(deps, attachFile),
  retrieveAttachment: perCall(deps, retrieveAttachment),
  createImage: perCall(deps, createImage),
  listAttachments: perCall(deps, listAttachments),
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
  server.add(AuditServiceDefinition, auditService(deps))
}
